import type { Schemas } from "@kule/contract/schemas";
import { Status, type Tone } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { ttlText } from "./ttl-text.ts";

type Side = { readonly ttl: number; readonly values: readonly string[] };
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
  return (
    <table class="list changes-list">
      <caption class="visually-hidden">{text.previewTitle}</caption>
      <thead>
        <tr>
          <th scope="col">{record.name}</th>
          <th scope="col">{record.type}</th>
          <th scope="col">{text.before}</th>
          <th scope="col">{text.after}</th>
        </tr>
      </thead>
      <tbody>
        {rowsOf(changes).map(({ kind, name, type, before, after }) => (
          <tr>
            <th scope="row" class="anywhere">
              <span class="mono">{name}</span> <Status tone={tones[kind]}>{text.kinds[kind]}</Status>
            </th>
            <td data-label={record.type}>
              <span class="tag mono">{type}</span>
            </td>
            <td data-label={before === null ? undefined : text.before}>
              <SideOf view={view} side={before} />
            </td>
            <td data-label={after === null ? undefined : text.after}>
              <SideOf view={view} side={after} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** TTL and values of a record set on one side of a comparison; a dash for none. */
export function SideOf({ view, side }: { readonly view: View; readonly side: Side | null }) {
  if (side === null) return <span class="hint">–</span>;
  return (
    <div class="record-side">
      <div class="hint">{ttlText(view, side.ttl)}</div>
      {side.values.map((value) => (
        <div class="mono anywhere">{value}</div>
      ))}
    </div>
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
