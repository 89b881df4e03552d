import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import type { JobRow } from "../../platform/jobs.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { askedBy } from "../networks/index.ts";
import type { ServerHooks } from "../servers/index.ts";
import { answered, lockForChange } from "./answers.ts";
import { requestApply } from "./apply.ts";
import { isAddressFree, makeMachine, replaceMachine } from "./machines.ts";
import type { LoadBalancerDetails } from "./store.ts";

/** Brings the whole configuration again. A machine whose creation has failed, or that is missing, is made anew. */
export async function applyLoadBalancer(
  request: ApiRequest<"applyLoadBalancer">,
  tx: Tx,
  found: LoadBalancerDetails,
  hooks: readonly ServerHooks[],
): Promise<Outcome> {
  const row = await lockForChange(request, tx, found);
  const work = { by: askedBy(request), settings: request.deps.settings, hooks };
  const made: (JobRow | null)[] = [];
  for (const { slot, server_id, has_failed } of row.machines) {
    if (server_id !== null && has_failed)
      made.push((await replaceMachine(tx, row, { slot, server_id }, work)).job);
    else if (server_id === null && (await isAddressFree(tx, row)))
      made.push(await makeMachine(tx, row, slot, work));
  }
  const job = await requestApply(tx, row, work.by);
  return answered(request, tx, row, { job: job ?? made.find((each) => each !== null) ?? null });
}
