import { takenByRestore } from "@kule/rules/quotas/quotas";
import { decideServerAction } from "@kule/rules/servers/preconditions";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import { type JobRow, type NewJob, queueJob, recordDoneJob, requestCancel } from "../../platform/jobs.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { quotaOfPackage, quotaRefusals } from "../quotas/index.ts";
import { blocked, changed, refuseConflicts } from "./answers.ts";
import type { ServerHooks } from "./hooks.ts";
import { preemptQueuedJob } from "./preempt.ts";
import { lockedState } from "./server-state.ts";
import { lockServer, type ServerDetails, type ServerRow } from "./store.ts";

/**
 * Takes a server out of the removal buffer. The expiry takes the same row lock: the first one wins, and the
 * other finds the server in a state that refuses it.
 */
export async function cancelServerDeletion(
  request: ApiRequest<"cancelServerDeletion">,
  tx: Tx,
  found: ServerDetails,
  hooks: readonly ServerHooks[],
): Promise<Outcome> {
  const server = await lockServer(tx, found.organisation_id, found.id);
  if (server === null || server.status === "deleted") throw new NotFound();
  const { state, jobs } = await lockedState(tx, server);
  const wrongState = decideServerAction("cancel_deletion", state);
  // Its vCPUs and its memory were released with the delete, and another server may use them since.
  const refusals =
    wrongState.length > 0
      ? wrongState
      : await quotaRefusals(tx, server.organisation_id, takenByRestore(quotaOfPackage(server.package)));
  if (request.dryRun && refusals.length > 0) return blocked(refusals);
  refuseConflicts(refusals, server.status);

  const { running, queued } = jobs;
  if (queued !== null) await preemptQueuedJob(tx, server, queued, "The removal was cancelled");
  if (running?.kind === "ServerStop") await requestCancel(tx, running);
  const status = await unmark(tx, server, running);
  const job = await restoreJob(request, tx, server);
  // No end of a job will settle the addresses that its create named.
  if (job.status === "succeeded")
    for (const hook of hooks) await hook.restored?.(tx, { ...server, status }, job);
  return changed(request, tx, server.id, job);
}

const statusAfter = { running: "starting", stopped: "stopped", error: "error" } as const;

/** @returns the status that the server has now */
async function unmark(tx: Tx, server: ServerRow, running: JobRow | null): Promise<string> {
  const restoresTo = (server.restores_to ?? "error") as keyof typeof statusAfter;
  // A create that was asked to stop and still runs: its end decides what becomes of the server.
  const isBeingCreated =
    restoresTo === "error" && (running?.kind === "ServerCreate" || running?.kind === "ServerAdopt");
  const status = isBeingCreated ? "creating" : statusAfter[restoresTo];
  await tx
    .updateTable("server")
    .set({
      status,
      ...(restoresTo === "error" && !isBeingCreated
        ? {
            status_code: "create_cancelled",
            status_message: "The server was deleted before it was made; its create can be tried again",
            status_job_id: null,
          }
        : { status_code: null, status_message: null, status_job_id: null }),
      deletion_requested_at: null,
      deletion_requested_by: null,
      purge_at: null,
      generation: sql<number>`generation + 1`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", server.organisation_id)
    .where("id", "=", server.id)
    .execute();
  return status;
}

/** A server that was never created has nothing in the region to restore: its job has ended already. */
function restoreJob(request: ApiRequest, tx: Tx, server: ServerRow): Promise<JobRow> {
  const job: NewJob = {
    kind: "ServerRestore",
    organisationId: server.organisation_id,
    region: server.region,
    resourceType: "server",
    resourceId: server.id,
    requestedBy: request.caller.actor,
    requestId: request.id,
  };
  return server.restores_to === "error" ? recordDoneJob(tx, job) : queueJob(tx, job);
}
