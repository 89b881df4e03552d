import type { Schemas } from "@kule/contract/schemas";
import { Pages, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import type { AgentUpdatesPageProps } from "./props.ts";
import { RolloutReason, RolloutStatus } from "./rollout-status-part.tsx";

/** All rollouts, the latest first. */
export function Rollouts({ view, rollouts, cursor }: AgentUpdatesPageProps) {
  const text = view.messages.agentUpdates;
  return (
    <section class="panel" id="rollouts" aria-labelledby="rollouts-title">
      <div class="panel-head">
        <h2 id="rollouts-title">{text.rollouts}</h2>
      </div>
      {rollouts.items.length === 0 ? (
        <p class="hint">{text.noRollouts}</p>
      ) : (
        <table class="list">
          <caption class="visually-hidden">{text.rollouts}</caption>
          <thead>
            <tr>
              <th scope="col">{text.version}</th>
              <th scope="col">{view.messages.common.status}</th>
              <th scope="col">{text.regions}</th>
              <th scope="col">{text.started}</th>
              <th scope="col">{text.ended}</th>
            </tr>
          </thead>
          <tbody>
            {rollouts.items.map((rollout) => (
              <RolloutRow view={view} rollout={rollout} />
            ))}
          </tbody>
        </table>
      )}
      <Pages
        view={view}
        base="/operator/agent-updates"
        query={new URLSearchParams()}
        cursor={cursor}
        next={rollouts.next_cursor}
      />
    </section>
  );
}

function RolloutRow({ view, rollout }: { readonly view: View; readonly rollout: Schemas["AgentRollout"] }) {
  const { messages, format } = view;
  const text = messages.agentUpdates;
  const { updated, waiting, offered, failed, skipped } = rollout.regions_count;
  return (
    <tr id={rollout.id}>
      <th scope="row">
        <a class="mono" href={`/operator/agent-updates/rollouts/${rollout.id}`}>
          {rollout.version}
        </a>
        {rollout.automatic ? <div class="hint">{text.startedByItself}</div> : null}
      </th>
      <td data-label={messages.common.status}>
        <RolloutStatus view={view} rollout={rollout} />
        <div class="hint">
          <RolloutReason view={view} rollout={rollout} />
        </div>
      </td>
      <td class="figures" data-label={text.regions}>
        {text.regionsOf(
          format.number(updated),
          format.number(updated + waiting + offered + failed + skipped),
        )}
      </td>
      <td data-label={text.started}>
        <When view={view} time={rollout.created_at} />
      </td>
      <td data-label={text.ended}>
        {rollout.ended_at === null ? "" : <When view={view} time={rollout.ended_at} />}
      </td>
    </tr>
  );
}
