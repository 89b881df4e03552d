import type { Schemas } from "@kule/contract/schemas";
import { canBeReconciled } from "@kule/rules/servers/reconcile";
import { FormSeal, Status, type Tone, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { WatchedList } from "./list-watched-page.tsx";
import type { DriftPageProps } from "./props.ts";

export const driftKinds = [
  "changed",
  "missing",
  "foreign",
  "extra",
] as const satisfies readonly Schemas["DriftKind"][];

const tones = {
  changed: "warning",
  missing: "bad",
  foreign: "busy",
  extra: "warning",
} as const satisfies Record<Schemas["DriftKind"], Tone>;

export function DriftPage(props: DriftPageProps) {
  const { view, drift, regions, filter, cursor } = props;
  const { operator } = view.messages;
  return (
    <WatchedList
      view={view}
      tab="drift"
      path="/operator/drift"
      list="drift"
      operation="listDrift"
      text={{
        title: operator.drift,
        lead: operator.driftLead,
        none: operator.noDrift,
        noneHint: operator.noDriftHint,
        noMatch: operator.noDriftMatch,
        noMatchHint: operator.noDriftMatchHint,
      }}
      regions={regions}
      region={filter.region}
      sorting={{
        name: "kind",
        label: operator.kind,
        any: operator.allKinds,
        sorts: driftKinds,
        chosen: filter.kind,
        names: operator.kinds,
        hints: operator.kindHints,
        tones,
        meanings: operator.more,
      }}
      cursor={cursor}
      next={drift.next_cursor}
    >
      {drift.items.length === 0 ? null : <DriftTable {...props} />}
    </WatchedList>
  );
}

function DriftTable(props: DriftPageProps) {
  const { view, drift } = props;
  const { messages } = view;
  const { operator } = messages;
  return (
    <table class="list">
      <caption class="visually-hidden">{operator.drift}</caption>
      <thead>
        <tr>
          <th scope="col">{operator.vm}</th>
          <th scope="col">{operator.kind}</th>
          <th scope="col">{messages.common.region}</th>
          <th scope="col">{operator.what}</th>
          <th scope="col">{operator.since}</th>
          <td></td>
        </tr>
      </thead>
      <tbody>
        {drift.items.map((each) => (
          <DriftRow {...props} each={each} />
        ))}
      </tbody>
    </table>
  );
}

function DriftRow({ view, organisations, each }: DriftPageProps & { readonly each: Schemas["Drift"] }) {
  const { messages } = view;
  const { operator } = messages;
  const organisation = organisations.find(({ id }) => id === each.organisation_id);
  return (
    <tr id={each.id} data-tone={tones[each.kind]}>
      <th scope="row">
        <span class="figures">{each.vmid}</span>
        {each.vm_name === null ? null : <small class="vm-name mono">{each.vm_name}</small>}
      </th>
      <td data-label={operator.kind}>
        <Status tone={tones[each.kind]}>{operator.kinds[each.kind]}</Status>
      </td>
      <td data-label={messages.common.region}>
        <div>
          {each.region}
          {each.node === null ? null : <div class="hint">{each.node}</div>}
        </div>
      </td>
      <td data-label={operator.what}>
        <What view={view} each={each} />
      </td>
      <td data-label={operator.since}>
        <div>
          <When view={view} time={each.first_seen_at} />
          <div class="hint">
            {operator.seenAgain} <When view={view} time={each.last_seen_at} />
          </div>
        </div>
      </td>
      <td class="row-act">
        {each.kind === "foreign" ? (
          <a
            class="button"
            href={`/operator/import?${new URLSearchParams({ region: each.region, vmid: String(each.vmid) })}`}
            aria-label={operator.importNamed(String(each.vmid))}
          >
            {operator.importIt}
          </a>
        ) : each.server_id === null || each.organisation_id === null ? null : (
          <form method="post" action="/organisations">
            <FormSeal view={view} />
            <input type="hidden" name="organisation_id" value={each.organisation_id} />
            <button
              type="submit"
              class="button"
              name="return_to"
              value={`/servers/${each.server_id}`}
              aria-label={operator.openServerIn(organisation?.name ?? each.organisation_id)}
            >
              {operator.openServer}
            </button>
            {canBeReconciled({ kind: each.kind, fields: each.differences.map(({ field }) => field) }) ? (
              <button
                type="submit"
                class="button"
                name="return_to"
                value={`/operator/servers/${each.server_id}/reconcile`}
                aria-label={messages.serverReconcile.putRightNamed(String(each.vmid))}
              >
                {messages.serverReconcile.putRight}
              </button>
            ) : null}
            {organisation === undefined ? null : <p class="hint">{organisation.name}</p>}
          </form>
        )}
      </td>
    </tr>
  );
}

/** Field by field if the API knows the fields; otherwise the API's text, or a translation of it. */
function What({ view, each }: { readonly view: View; readonly each: Schemas["Drift"] }) {
  const { operator, inventory } = view.messages;
  if (each.differences.length > 0)
    return (
      <ul class="differences">
        {each.differences.map(({ field, wanted, seen }) => (
          <li>
            <code>{field}</code>: {inventory.difference(wanted ?? "–", seen ?? "–")}
          </li>
        ))}
      </ul>
    );
  return (
    <div class="anywhere">
      {view.language === "en" ? each.message : operator.kindHints[each.kind]}
      {each.marker === null || each.server_id !== null ? null : (
        <div class="hint mono">{operator.markedFor(each.marker)}</div>
      )}
    </div>
  );
}
