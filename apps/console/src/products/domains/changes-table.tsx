import type { Schemas } from "@kule/contract/schemas";
import { Status, type Tone } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { followedServer } from "./record-values.ts";
import { ttlText } from "./ttl-text.ts";

type Side = {
  readonly ttl: number;
  readonly values: readonly string[];
  /** Of a record set that follows a server: its present addresses. */
  readonly addresses?: readonly string[] | null;
};
type Kind = "created" | "changed" | "deleted";
type Row = {
  readonly kind: Kind;
  readonly name: string;
  readonly type: string;
  readonly before: Side | null;
  readonly after: Side | null;
};

const tones = { created: "good", changed: "warning", deleted: "bad" } as const satisfies Record<Kind, Tone>;

/** The differences that a change makes, as they are now and then. */
export function ChangesTable({
  view,
  changes,
}: {
  readonly view: View;
  readonly changes: Schemas["RecordChanges"];
}) {
  const { record, import: text } = view.messages.domains;
  const rows = rowsOf(changes);
  // Where all are new, or all are deleted, one side has nothing to show.
  const hasBefore = rows.some(({ before }) => before !== null);
  const hasAfter = rows.some(({ after }) => after !== null);
  return (
    <table class="list changes-list">
      <caption class="visually-hidden">{text.previewTitle}</caption>
      <thead>
        <tr>
          <th scope="col" class="record-name">
            {record.name}
          </th>
          <th scope="col">{record.type}</th>
          {hasBefore ? <th scope="col">{text.before}</th> : null}
          {hasAfter ? <th scope="col">{text.after}</th> : null}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ kind, name, type, before, after }) => (
          <tr>
            <th scope="row" class="record-name anywhere">
              <span class="mono">{name}</span>
              <Status tone={tones[kind]}>{text.kinds[kind]}</Status>
            </th>
            <td>
              <span class="tag mono">{type}</span>
            </td>
            {hasBefore ? <SideCell view={view} label={text.before} side={before} /> : null}
            {hasAfter ? <SideCell view={view} label={text.after} side={after} /> : null}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** TTL and values of a record set on one side of a comparison; a dash for none, which a phone leaves out. */
export function SideCell(props: { readonly view: View; readonly label: string; readonly side: Side | null }) {
  const { view, label, side } = props;
  if (side === null)
    return (
      <td class="no-side">
        <span class="hint">–</span>
      </td>
    );
  const server = followedServer(side);
  const shown = server === null ? side.values : (side.addresses ?? []);
  return (
    <td class="record-values" data-label={label}>
      <ul class="values">
        <li class="hint">{ttlText(view, side.ttl)}</li>
        {shown.map((value) => (
          <li class="mono anywhere">{value}</li>
        ))}
        {server === null ? null : (
          <li class="hint anywhere">
            {view.messages.domains.record.follows} <a href={`/servers/${server}`}>{server}</a>
          </li>
        )}
      </ul>
    </td>
  );
}

function rowsOf({ created, changed, deleted }: Schemas["RecordChanges"]): Row[] {
  return [
    ...deleted.map((set) => ({ kind: "deleted" as const, ...keyOf(set), before: set, after: null })),
    ...changed.map(({ before, after }) => ({ kind: "changed" as const, ...keyOf(after), before, after })),
    ...created.map((set) => ({ kind: "created" as const, ...keyOf(set), before: null, after: set })),
  ];
}

const keyOf = ({ name, type }: Schemas["RecordSet"]) => ({ name, type });
