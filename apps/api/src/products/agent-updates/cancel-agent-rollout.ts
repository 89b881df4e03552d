import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { changeRollout } from "./change-rollout.ts";
import type { RolloutRow } from "./rollout-store.ts";

/** Ends the rollout: no agent is offered the version any more, from its next report on. */
export function cancelAgentRollout(
  _request: ApiRequest<"cancelAgentRollout">,
  tx: Tx,
  { id }: RolloutRow,
): Promise<Outcome> {
  return changeRollout(tx, id, "cancel", {
    status: "cancelled",
    waits_for: null,
    waits_until: null,
    isOver: true,
  });
}
