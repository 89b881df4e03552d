import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { changeRollout } from "./change-rollout.ts";
import type { RolloutRow } from "./rollout-store.ts";

/** No further region is offered the version. Those that were offered it go on, and are watched. */
export function pauseAgentRollout(
  _request: ApiRequest<"pauseAgentRollout">,
  tx: Tx,
  { id }: RolloutRow,
): Promise<Outcome> {
  return changeRollout(tx, id, "pause", { status: "paused", waits_for: null, waits_until: null });
}
