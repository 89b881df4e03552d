import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { changeRollout } from "./change-rollout.ts";
import type { RolloutRow } from "./rollout-store.ts";

/** Goes on with the regions that wait. Those that failed stay as they are, also the one for which the rollout stopped. */
export function resumeAgentRollout(
  _request: ApiRequest<"resumeAgentRollout">,
  tx: Tx,
  { id }: RolloutRow,
): Promise<Outcome> {
  return changeRollout(tx, id, "resume", { status: "running", reason: null });
}
