import { restoresTo, type ServerStatus } from "@kule/rules/servers/lifecycle";
import { decideServerAction } from "@kule/rules/servers/preconditions";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import { queueJob, requestCancel } from "../../platform/jobs.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { recordUsage, serverUsage } from "../usage/index.ts";
import { answered, type Change, refuseConflicts } from "./answers.ts";
import type { ChangeOfServer } from "./change-of-server.ts";
import { preemptQueuedJob } from "./preempt.ts";
import { queueServerJob } from "./queue-server-job.ts";
import { lockedState } from "./server-state.ts";
import { lockServer, type ServerDetails, type ServerRow } from "./store.ts";

export async function deleteServer(
  request: ApiRequest<"deleteServer">,
  tx: Tx,
  { id }: ServerDetails,
): Promise<Outcome> {
  return answered(request, tx, id, await removeServer(request, tx, id, request.query.purge === true));
}

/**
 * Marks a server for removal. The delete supersedes its open jobs: a create that waits is cancelled, a
 * running one is asked to end and the stop is queued behind it.
 */
export async function removeServer(
  request: ChangeOfServer,
  tx: Tx,
  serverId: string,
  isPurge: boolean,
): Promise<Change> {
  const server = await lockServer(tx, request.organisationId, serverId);
  if (server === null || server.status === "deleted") throw new NotFound();
  request.checkGeneration(server);
  const { state, jobs } = await lockedState(tx, server, request.owner);
  const refusals = decideServerAction(isPurge ? "purge" : "delete", state);
  if (request.dryRun && refusals.length > 0) return { refusals };
  refuseConflicts(refusals, server.status);

  const { running, queued } = jobs;
  const left =
    queued === null ? server : await preemptQueuedJob(tx, server, queued, "The server was deleted");
  if (running !== null && running.kind !== "ServerStop") await requestCancel(tx, running);
  if (isPurge) return purge(request, tx, left);
  await mark(request, tx, left);
  const job = await queueJob(tx, {
    kind: "ServerStop",
    organisationId: server.organisation_id,
    region: server.region,
    resourceType: "server",
    resourceId: server.id,
    requestedBy: request.caller.actor,
    requestId: request.id,
  });
  recordUsage(tx, ["server.purge_scheduled"], serverUsage(left, job, "request"));
  return { job };
}

/** Without a removal buffer, or out of it before its time: the job that destroys it is written now. */
async function purge(request: ChangeOfServer, tx: Tx, server: ServerRow): Promise<Change> {
  const isMarked = server.status === "pending_deletion";
  const job = await queueServerJob(request, tx, server, {
    kind: "ServerDestroy",
    status: "deleting",
    set: {
      // Its purge time is now: nothing is destroyed before that.
      purge_at: sql<Date>`clock_timestamp()`,
      ...(isMarked
        ? {}
        : {
            restores_to: restoresTo(
              server.status as ServerStatus,
              server.observed_generation > 0,
              server.power_state === "on",
            ),
            deletion_requested_at: sql<Date>`clock_timestamp()`,
            deletion_requested_by: JSON.stringify(request.caller.actor),
          }),
    },
  });
  if (!isMarked) recordUsage(tx, ["server.purge_scheduled"], serverUsage(server, job, "request"));
  return { job };
}

async function mark(request: ChangeOfServer, tx: Tx, server: ServerRow): Promise<void> {
  const wasCreated = server.observed_generation > 0;
  const { purge_at } = await tx
    .updateTable("server")
    .set({
      status: "pending_deletion",
      status_code: null,
      status_message: null,
      status_job_id: null,
      restores_to: restoresTo(server.status as ServerStatus, wasCreated, server.power_state === "on"),
      deletion_requested_at: sql<Date>`clock_timestamp()`,
      deletion_requested_by: JSON.stringify(request.caller.actor),
      purge_at: sql<Date>`clock_timestamp() + make_interval(secs => ${request.deps.settings.removalBufferSeconds})`,
      generation: sql<number>`generation + 1`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", server.organisation_id)
    .where("id", "=", server.id)
    // As text, so that the worker's clock starts at the very microsecond.
    .returning(sql<string>`purge_at::text`.as("purge_at"))
    .executeTakeFirstOrThrow();
  const payload = JSON.stringify({ organisation_id: server.organisation_id, server_id: server.id });
  await sql`select kule_task_add('expire_removal_buffer', ${payload}::json, ${purge_at}::timestamptz,
                                 ${`purge:${server.id}`})`.execute(tx);
}
