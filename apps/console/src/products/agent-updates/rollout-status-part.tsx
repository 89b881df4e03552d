import type { Schemas } from "@kule/contract/schemas";
import { Status, type Tone, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";

const tones = {
  running: "busy",
  paused: "idle",
  stopped: "bad",
  done: "good",
  cancelled: "idle",
} as const satisfies Record<Schemas["AgentRolloutStatus"], Tone>;

export const regionTones = {
  waiting: "idle",
  offered: "busy",
  updated: "good",
  failed: "bad",
  skipped: "warning",
} as const satisfies Record<Schemas["AgentRolloutRegionState"], Tone>;

type Props = { readonly view: View; readonly rollout: Schemas["AgentRollout"] };

export function RolloutStatus({ view, rollout: { status } }: Props) {
  return <Status tone={tones[status]}>{view.messages.agentUpdates.statuses[status]}</Status>;
}

/** Why it stopped, or what it waits for; nothing for one that has ended. */
export function RolloutReason({ view, rollout: { reason, waits_for: waits, waits_until: until } }: Props) {
  const text = view.messages.agentUpdates;
  if (reason !== null) return <span class="anywhere">{reason}</span>;
  if (waits === null) return null;
  return (
    <>
      {text.waits[waits]}
      {until === null ? null : (
        <>
          {" "}
          <When view={view} time={until} />
        </>
      )}
    </>
  );
}
