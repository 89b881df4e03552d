import type { Schemas } from "@kule/contract/schemas";
import { apiCall } from "../../api-call.ts";
import { CallExample, EmptyState, PageHead, Pages, Status, type Tone, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";

export type RegionsPageProps = {
  readonly view: View;
  readonly regions: readonly {
    readonly region: Schemas["Region"];
    readonly capacity: Schemas["RegionCapacity"];
  }[];
  readonly drift: Schemas["DriftList"];
  readonly cursor: string | undefined;
};

const tones = {
  ok: "good",
  degraded: "warning",
  unreachable: "bad",
  maintenance: "idle",
} as const satisfies Record<Schemas["RegionStatus"], Tone>;

const driftTones = {
  changed: "warning",
  missing: "bad",
  foreign: "warning",
  extra: "warning",
} as const satisfies Record<Schemas["DriftKind"], Tone>;

/** What operators look after: where regions differ from the records, and what room they have. */
export function RegionsPage({ view, regions, drift, cursor }: RegionsPageProps) {
  const { operator } = view.messages;
  return (
    <Shell view={view} title={operator.title} section="operator">
      <PageHead title={operator.title} lead={operator.lead} />
      <section class="panel" aria-labelledby="drift-title">
        <div class="panel-head">
          <h2 id="drift-title">{operator.drift}</h2>
        </div>
        {drift.items.length === 0 ? (
          <EmptyState title={operator.noDrift} hint={operator.noDriftHint} />
        ) : (
          <DriftTable view={view} items={drift.items} />
        )}
        <Pages
          view={view}
          base="/operator"
          query={new URLSearchParams()}
          cursor={cursor}
          next={drift.next_cursor}
        />
      </section>
      {regions.map((each) => (
        <Region view={view} {...each} />
      ))}
      <CallExample
        view={view}
        id="operator-call"
        call={apiCall({ apiUrl: view.apiUrl, method: "GET", path: "/operator/drift" })}
      />
    </Shell>
  );
}

function DriftTable({ view, items }: { readonly view: View; readonly items: readonly Schemas["Drift"][] }) {
  const { messages } = view;
  const { operator, inventory } = messages;
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
        </tr>
      </thead>
      <tbody>
        {items.map((each) => (
          <tr id={each.id}>
            <th scope="row" class="figures">
              {each.vmid}
              {each.vm_name === null ? null : <small class="mono"> {each.vm_name}</small>}
            </th>
            <td data-label={operator.kind}>
              <Status tone={driftTones[each.kind]}>{operator.kinds[each.kind]}</Status>
            </td>
            <td data-label={messages.common.region}>
              {each.region}
              {each.node === null ? null : ` · ${each.node}`}
            </td>
            <td data-label={operator.what}>
              <div class="anywhere">
                {each.message}
                {each.differences.map(({ field, wanted, seen }) => (
                  <div>
                    <code>{field}</code>: {inventory.difference(wanted ?? "–", seen ?? "–")}
                  </div>
                ))}
                {each.organisation_id === null ? null : (
                  <div class="hint mono">
                    {each.organisation_id} · {each.server_id}
                  </div>
                )}
              </div>
            </td>
            <td data-label={operator.since}>
              <When view={view} time={each.first_seen_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Region({ view, region, capacity }: { readonly view: View } & RegionsPageProps["regions"][number]) {
  const { messages, format } = view;
  const { operator } = messages;
  const pass = capacity.last_pass;
  return (
    <section class="panel" id={`region-${region.slug}`} aria-labelledby={`title-${region.slug}`}>
      <div class="panel-head">
        <h2 id={`title-${region.slug}`}>
          {region.name} <span class="tag mono">{region.slug}</span>
        </h2>
        <Status tone={tones[region.status]}>{operator.status[region.status]}</Status>
      </div>
      <p class="panel-lead">
        {capacity.reported_at === null ? (
          operator.neverReported
        ) : (
          <>
            {operator.reported} <When view={view} time={capacity.reported_at} />
            {capacity.fresh ? null : ` · ${operator.old}`}
            {pass?.trouble == null ? null : ` · ${pass.trouble}`}
          </>
        )}
      </p>
      {capacity.nodes.length === 0 ? null : (
        <table class="list">
          <caption class="visually-hidden">{`${operator.capacity}: ${region.name}`}</caption>
          <thead>
            <tr>
              <th scope="col">{operator.place}</th>
              <th scope="col">{messages.common.status}</th>
              <th scope="col">{operator.servers}</th>
              <th scope="col">{operator.vcpuFree}</th>
              <th scope="col">{operator.free}</th>
              <th scope="col">{operator.total}</th>
            </tr>
          </thead>
          <tbody>
            {capacity.nodes.map((node) => (
              <tr>
                <th scope="row">{node.name}</th>
                <td data-label={messages.common.status}>
                  <Status tone={!node.online ? "bad" : node.maintenance ? "idle" : "good"}>
                    {!node.online
                      ? operator.offline
                      : node.maintenance
                        ? operator.status.maintenance
                        : operator.online}
                  </Status>
                </td>
                <td class="figures" data-label={operator.servers}>
                  {format.number(node.servers)}
                </td>
                <td class="figures" data-label={operator.vcpuFree}>
                  {format.number(node.vcpu_free)}
                </td>
                <td class="figures" data-label={operator.free}>
                  {format.memory(node.memory_free_mb)}
                </td>
                <td class="figures" data-label={operator.total}>
                  {format.memory(node.memory_mb)}
                </td>
              </tr>
            ))}
            {capacity.storages.map((storage) => (
              <tr>
                <th scope="row">{storage.name}</th>
                <td data-label={messages.common.status}>
                  <span class="tag">{storage.node ?? operator.shared}</span>
                </td>
                <td class="figures" data-label={operator.servers}>
                  –
                </td>
                <td class="figures" data-label={operator.vcpuFree}>
                  –
                </td>
                <td class="figures" data-label={operator.free}>
                  {format.disk(storage.free_gb)}
                </td>
                <td class="figures" data-label={operator.total}>
                  {format.disk(storage.total_gb)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
