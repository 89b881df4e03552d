import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { cancelQueuedJob, type JobRow, lockOpenJobs, requestCancel } from "../../platform/jobs.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { askedBy } from "../networks/index.ts";
import { answered } from "./answers.ts";
import { endIfDone } from "./end.ts";
import { destroyServer, type MachineWork, serversOf } from "./machines.ts";
import { type LoadBalancerDetails, type LoadBalancerRow, lockDetails } from "./store.ts";

/** Accepted in every state. It is gone when its servers are: see end.ts. */
export async function deleteLoadBalancer(
  request: ApiRequest<"deleteLoadBalancer">,
  tx: Tx,
  found: LoadBalancerDetails,
): Promise<Outcome> {
  const row = await lockDetails(tx, found.organisation_id, found.id);
  request.checkGeneration(row);
  if (!row.is_deleting) await mark(tx, row);
  const { settings } = request.deps;
  const job = await destroyServers(tx, row, { by: askedBy(request), settings });
  const outcome = await answered(request, tx, row, { job });
  await endIfDone(tx, row, { settings, job: null });
  return outcome;
}

/** Nothing is brought to its machines any more. */
async function mark(tx: Tx, row: LoadBalancerRow): Promise<void> {
  await tx
    .updateTable("load_balancer")
    .set({
      is_deleting: true,
      generation: sql<number>`generation + 1`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", row.organisation_id)
    .where("id", "=", row.id)
    .execute();
  const { queued, running } = await lockOpenJobs(tx, row.organisation_id, row.id);
  if (queued !== null) cancelQueuedJob(tx, queued, "superseded", "The load balancer was deleted");
  if (running !== null) await requestCancel(tx, running);
}

/**
 * Has all its servers destroyed that are not being destroyed yet.
 *
 * @param again after how many seconds what has failed is tried again
 * @returns the first of the jobs
 */
export async function destroyServers(
  tx: Tx,
  row: LoadBalancerRow,
  work: Omit<MachineWork, "hooks">,
  again = 0,
): Promise<JobRow | null> {
  let first: JobRow | null = null;
  for (const { id } of await serversOf(tx, row)) {
    const job = await destroyServer(tx, row, id, work, again);
    first ??= job;
  }
  return first;
}
