import type { Schemas } from "@kule/contract/schemas";
import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { operatorCrumbs } from "../../layout/operator-crumbs.ts";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { FormSeal, PageHead, Status, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import { isOpen, rolloutCalls } from "./calls.ts";
import type { RolloutPageProps } from "./props.ts";
import { RolloutReason, RolloutStatus, regionTones } from "./rollout-status-part.tsx";

/** One rollout: its regions, and what an operator can do with it. */
export function RolloutPage(props: RolloutPageProps) {
  const { view, rollout, banner } = props;
  const text = view.messages.agentUpdates;
  const title = text.rolloutOf(rollout.version);
  return (
    <Shell
      view={view}
      title={title}
      section="operator"
      crumbs={[...operatorCrumbs(view), { path: "/operator/agent-updates", text: text.title }]}
    >
      <OperatorTabs view={view} current="agentUpdates" />
      <PageHead title={title} api={<ApiDrawer view={view} calls={rolloutCalls(props)} />}>
        <RolloutStatus view={view} rollout={rollout} />
      </PageHead>
      <PageNotice banner={banner} />
      <Progress {...props} />
      <Regions {...props} />
    </Shell>
  );
}

function Progress(props: RolloutPageProps) {
  const { view, rollout } = props;
  const text = view.messages.agentUpdates;
  const facts: readonly (readonly [string, unknown])[] = [
    [text.started, <When view={view} time={rollout.created_at} />],
    ...(rollout.ended_at === null
      ? []
      : [[text.ended, <When view={view} time={rollout.ended_at} />] as const]),
    [text.firstRegion, rollout.first_region ?? text.noFirstRegion],
    ...(rollout.reason === null && rollout.waits_for === null
      ? []
      : [
          [
            rollout.reason === null ? text.waitsFor : text.reason,
            <RolloutReason view={view} rollout={rollout} />,
          ] as const,
        ]),
  ];
  return (
    <section class="panel" aria-labelledby="progress-title">
      <div class="panel-head">
        <h2 id="progress-title">{text.progress}</h2>
      </div>
      {rollout.status === "stopped" ? <p class="panel-lead">{text.stoppedLead}</p> : null}
      <dl class="facts" data-columns="">
        {facts.map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {isOpen(rollout) ? <Changes {...props} /> : null}
    </section>
  );
}

function Changes({ view, rollout, idempotencyKey }: RolloutPageProps) {
  const text = view.messages.agentUpdates;
  const path = `/operator/agent-updates/rollouts/${rollout.id}`;
  const verb = rollout.status === "running" ? "pause" : "resume";
  return (
    <div class="panel-foot">
      <span class="hint">{text.changeHints[verb]}</span>
      <form class="push" method="post" action={`${path}/${verb}`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-${verb}`} />
        <button type="submit" class="button">
          {text.changes[verb]}
        </button>
      </form>
      <details class="confirm" id="cancel">
        <summary class="button">{text.changes.cancel}</summary>
        <form method="post" action={`${path}/cancel`}>
          <FormSeal view={view} idempotencyKey={`${idempotencyKey}-cancel`} />
          <p>
            <strong>{text.cancelQuestion(rollout.version)}</strong>
          </p>
          <p class="hint">{text.cancelHint}</p>
          <button type="submit" class="button" data-kind="danger">
            {text.changes.cancel}
          </button>
        </form>
      </details>
    </div>
  );
}

function Regions({ view, rollout }: RolloutPageProps) {
  const text = view.messages.agentUpdates;
  const { regions = [] } = rollout;
  return (
    <section class="panel" id="regions" aria-labelledby="regions-title">
      <div class="panel-head">
        <h2 id="regions-title">{text.regions}</h2>
      </div>
      {regions.length === 0 ? (
        <p class="hint">{text.noRegions}</p>
      ) : (
        <table class="list">
          <caption class="visually-hidden">{text.regions}</caption>
          <thead>
            <tr>
              <th scope="col">{view.messages.common.region}</th>
              <th scope="col">{view.messages.common.status}</th>
              <th scope="col">{text.agents}</th>
              <th scope="col">{text.offered}</th>
              <th scope="col">{text.ended}</th>
            </tr>
          </thead>
          <tbody>
            {regions.map((region) => (
              <RegionRow view={view} part={region} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function RegionRow({ view, part }: { readonly view: View; readonly part: Schemas["AgentRolloutRegion"] }) {
  const { messages } = view;
  const text = messages.agentUpdates;
  return (
    <tr id={`region-${part.region}`} data-tone={regionTones[part.state]}>
      <th scope="row">
        <a href={`/operator/regions/${part.region}`}>{part.region}</a>
      </th>
      <td data-label={messages.common.status}>
        <Status tone={regionTones[part.state]}>{text.states[part.state]}</Status>
        {part.reason === null ? null : <div class="hint anywhere">{part.reason}</div>}
      </td>
      <td data-label={text.agents}>
        <AgentList view={view} agents={part.agents} />
      </td>
      <td data-label={text.offered}>
        {part.offered_at === null ? "" : <When view={view} time={part.offered_at} />}
      </td>
      <td data-label={text.ended}>
        {part.ended_at === null ? "" : <When view={view} time={part.ended_at} />}
      </td>
    </tr>
  );
}

/** The agents of a region with their versions, and what their last update has come to. */
function AgentList({
  view,
  agents,
}: {
  readonly view: View;
  readonly agents: readonly Schemas["RegionAgent"][];
}) {
  const text = view.messages.agentUpdates;
  if (agents.length === 0) return <span class="hint">{text.noAgents}</span>;
  return (
    <ul>
      {agents.map(({ name, version, update }) => (
        <li>
          <span class="anywhere">{name ?? text.unnamed}</span> <span class="mono">{version}</span>
          {update === null ? null : (
            <div class="hint anywhere">
              {`${text.updates[update.state]} (${update.version})`}
              {update.message === null ? null : `: ${update.message}`}
            </div>
          )}
        </li>
      ))}
    </ul>
  );
}
