import type { Schemas } from "@kule/contract/schemas";
import { FormSeal, Status, type Tone, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";

export type KnownRegion = {
  readonly region: Schemas["Region"];
  readonly capacity: Schemas["RegionCapacity"];
};

type Props = KnownRegion & { readonly view: View; readonly idempotencyKey: string };

export const regionTones = {
  ok: "good",
  degraded: "warning",
  unreachable: "bad",
  maintenance: "idle",
} as const satisfies Record<Schemas["RegionStatus"], Tone>;

/** One region: its state, its agent, and its capacity. */
export function RegionPanel(props: Props) {
  const { view, region } = props;
  const { operator } = view.messages;
  return (
    <section class="panel" id={`region-${region.slug}`} aria-labelledby={`title-${region.slug}`}>
      <div class="panel-head">
        <h2 id={`title-${region.slug}`}>
          {region.name} {region.name === region.slug ? null : <span class="tag mono">{region.slug}</span>}
        </h2>
        <Status tone={regionTones[region.status]}>{operator.status[region.status]}</Status>
      </div>
      {region.status === "ok" ? null : <p class="panel-lead">{operator.statusHints[region.status]}</p>}
      <Health {...props} />
      <div class="region-tables">
        <Nodes {...props} />
        <Storages {...props} />
      </div>
      <Maintenance {...props} />
    </section>
  );
}

function Health({ view, region, capacity }: Props) {
  const { messages, format } = view;
  const { operator } = messages;
  const { agent, jobs } = region;
  const pass = capacity.last_pass;
  return (
    <dl class="facts" data-columns="">
      <div>
        <dt>{operator.agent}</dt>
        <dd>
          {agent === null ? (
            region.mode === "direct" ? (
              operator.agentDirect
            ) : (
              operator.agentNever
            )
          ) : (
            <>
              {operator.agentSeen(agent.version)} <When view={view} time={agent.reported_at} />
              <Rollout view={view} rollout={region.rollout} />
            </>
          )}
        </dd>
      </div>
      {agent === null ? null : (
        <>
          <div>
            <dt>{operator.hypervisor}</dt>
            <dd>
              {agent.hypervisor.kind} {agent.hypervisor.version},{" "}
              {agent.hypervisor.reachable ? operator.reachable : operator.notReachable}
              {agent.hypervisor.message == null ? null : <div class="hint">{agent.hypervisor.message}</div>}
            </dd>
          </div>
          <div>
            <dt>{operator.templates}</dt>
            <dd>
              <Templates view={view} templates={agent.templates} />
            </dd>
          </div>
        </>
      )}
      <div>
        <dt>{operator.jobs}</dt>
        <dd class="figures">{operator.jobsOf(format.number(jobs.running), format.number(jobs.queued))}</dd>
      </div>
      <div>
        <dt>{operator.look}</dt>
        <dd>
          {pass === null ? (
            messages.inventory.observation.none
          ) : (
            <>
              <When view={view} time={pass.ended_at} /> · {operator.lookOf(format.number(pass.vms))}
              {pass.complete ? null : ` · ${operator.lookIncomplete}`}
              {pass.trouble === null ? null : <div class="hint">{pass.trouble}</div>}
            </>
          )}
        </dd>
      </div>
      {capacity.implausible_traffic.length === 0 ? null : (
        <div>
          <dt>{operator.implausibleTraffic}</dt>
          <dd>
            <ul>
              {capacity.implausible_traffic.map(({ load_balancer_id, slot, message, at }) => (
                <li>
                  <span class="mono anywhere">{`${load_balancer_id} · ${slot}`}</span> {message}{" "}
                  <When view={view} time={at} />
                </li>
              ))}
            </ul>
            <div class="hint">{operator.notCounted}</div>
          </dd>
        </div>
      )}
      <div>
        <dt>{operator.numbers}</dt>
        <dd class="figures">
          {region.vmid_range.first}–{region.vmid_range.last}
          {region.restricted_to === null ? null : (
            <div class="hint">{operator.restricted(format.number(region.restricted_to.length))}</div>
          )}
        </dd>
      </div>
    </dl>
  );
}

/** Its part in the open rollout of an agent release. */
function Rollout({ view, rollout }: { readonly view: View; readonly rollout: Schemas["Region"]["rollout"] }) {
  if (rollout === null) return null;
  const text = view.messages.agentUpdates;
  return (
    <div class="hint">
      <a href={`/operator/agent-updates/rollouts/${rollout.id}`}>{text.rolloutOf(rollout.version)}</a>{" "}
      {text.states[rollout.state]}
    </div>
  );
}

function Templates(props: { readonly view: View; readonly templates: readonly Schemas["TemplateHealth"][] }) {
  const broken = props.templates.filter(({ ok }) => !ok);
  if (broken.length === 0)
    return props.view.messages.operator.templatesOk(props.view.format.number(props.templates.length));
  return (
    <ul>
      {broken.map(({ image, message }) => (
        <li>
          <Status tone="bad">{image}</Status> <span class="hint">{message}</span>
        </li>
      ))}
    </ul>
  );
}

function Nodes({ view, capacity }: Props) {
  const { messages, format } = view;
  const { operator } = messages;
  if (capacity.reported_at === null) return <p class="hint">{operator.neverReported}</p>;
  return (
    <div>
      <h3>{operator.nodes}</h3>
      <p class="hint">
        {operator.reported} <When view={view} time={capacity.reported_at} />
        {capacity.fresh ? null : ` · ${operator.old}`}
      </p>
      <table class="list">
        <caption class="visually-hidden">{`${operator.nodes}: ${capacity.region}`}</caption>
        <thead>
          <tr>
            <th scope="col">{operator.node}</th>
            <th scope="col">{messages.common.status}</th>
            <th scope="col" class="number">
              {operator.servers}
            </th>
            <th scope="col" class="number">
              {operator.vcpuFree}
            </th>
            <th scope="col">{operator.memory}</th>
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
              <td class="figures number" data-label={operator.servers}>
                {format.number(node.servers)}
              </td>
              <td class="figures number" data-label={operator.vcpuFree}>
                {format.number(node.vcpu_free)}
              </td>
              <td data-label={operator.memory}>
                <Room
                  view={view}
                  name={node.name}
                  free={node.memory_free_mb}
                  total={node.memory_mb}
                  said={format.memory}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Storages({ view, capacity }: Props) {
  const { operator } = view.messages;
  if (capacity.storages.length === 0) return null;
  return (
    <div>
      <h3>{operator.storages}</h3>
      <table class="list">
        <caption class="visually-hidden">{`${operator.storages}: ${capacity.region}`}</caption>
        <thead>
          <tr>
            <th scope="col">{operator.storage}</th>
            <th scope="col">{operator.storageOf}</th>
            <th scope="col">{operator.disk}</th>
          </tr>
        </thead>
        <tbody>
          {capacity.storages.map((storage) => (
            <tr>
              <th scope="row">{storage.name}</th>
              <td data-label={operator.storageOf}>{storage.node ?? operator.shared}</td>
              <td data-label={operator.disk}>
                <Room
                  view={view}
                  name={storage.name}
                  free={storage.free_gb}
                  total={storage.total_gb}
                  said={view.format.disk}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The used capacity as a bar; what is available for servers in figures. */
function Room(props: {
  readonly view: View;
  readonly name: string;
  readonly free: number;
  readonly total: number;
  readonly said: (amount: number) => string;
}) {
  const { view, free, total } = props;
  const { operator } = view.messages;
  const percent = total === 0 ? 100 : Math.round((1 - Math.max(0, free) / total) * 100);
  return (
    <div class="fill-cell">
      <progress
        class="fill"
        aria-label={operator.givenShare(props.name, view.format.percent(percent))}
        max={100}
        value={percent}
        data-full={free <= 0 ? "" : undefined}
      />
      <span class="hint figures">{operator.freeOf(props.said(Math.max(0, free)), props.said(total))}</span>
    </div>
  );
}

function Maintenance({ view, region, idempotencyKey }: Props) {
  const { operator } = view.messages;
  const { format } = view;
  const action = `/operator/regions/${region.slug}/maintenance`;
  const seal = <FormSeal view={view} idempotencyKey={`${idempotencyKey}-${region.slug}`} />;
  return (
    <div class="panel-foot">
      <span class="hint">{operator.maintenanceHint}</span>
      <a
        class="button push"
        href={`/operator/regions/${region.slug}`}
        aria-label={view.messages.regionAdmin.manageNamed(region.name)}
      >
        {view.messages.regionAdmin.manage}
      </a>
      {region.maintenance ? (
        <form method="post" action={action}>
          {seal}
          <button
            type="submit"
            class="button"
            name="maintenance"
            value="false"
            aria-label={operator.maintenanceOffNamed(region.name)}
          >
            {operator.maintenanceOff}
          </button>
        </form>
      ) : (
        <details class="confirm" id={`maintenance-${region.slug}`}>
          <summary class="button" aria-label={operator.maintenanceOnNamed(region.name)}>
            {operator.maintenanceOn}
          </summary>
          <form method="post" action={action}>
            {seal}
            <p>
              <strong>{operator.maintenanceQuestion(region.name)}</strong>
            </p>
            <ul class="hint">
              {operator
                .maintenanceMeans(format.number(region.jobs.running), format.number(region.jobs.queued))
                .map((line) => (
                  <li>{line}</li>
                ))}
            </ul>
            <button type="submit" class="button" data-kind="danger" name="maintenance" value="true">
              {operator.maintenanceOn}
            </button>
          </form>
        </details>
      )}
    </div>
  );
}
