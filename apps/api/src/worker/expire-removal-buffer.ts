import type { SystemAuditAction } from "@kule/contract/system-audit";
import { sql } from "kysely";
import { systemQuery, type Tx } from "../platform/database.ts";
import type { Deps } from "../platform/deps.ts";
import { newId } from "../platform/ids.ts";
import { lockOpenJobs, queueJob } from "../platform/jobs.ts";
import { actAs } from "../platform/mutation.ts";
import { waitsForRestoreToEnd } from "../platform/restored-regions.ts";
import { inTransaction } from "../platform/transaction.ts";
import { lockServer, preemptQueuedJob } from "../products/servers/index.ts";

type Work = Pick<Deps, "db">;

/** Without a report for so long a region counts as away. */
const silenceSeconds = 60;

/**
 * Ends a server's time in the removal buffer, if it is over: writes the job that destroys it. A
 * cancel-deletion takes the same row lock, so one of the two finds the other's work done and does nothing.
 *
 * @returns whether this call has started the server's deletion
 */
export async function expireRemovalBuffer(
  { db }: Work,
  organisationId: string,
  serverId: string,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    actAs(tx, organisationId);
    const server = await lockServer(tx, organisationId, serverId);
    if (server === null || server.status !== "pending_deletion") return false;
    // An operator's lock prevents it; the sweep finds the server when the lock is gone.
    if (server.locked_at !== null) return false;
    const region = await scanRegion(tx, organisationId, serverId);
    // Its deletion may have been cancelled after the moment of a restored backup.
    if (!region.isDue || region.waitsForRestore) return false;

    const { queued } = await lockOpenJobs(tx, organisationId, serverId);
    if (queued !== null) await preemptQueuedJob(tx, server, queued, "The removal buffer has ended");
    const requestId = newId("req");
    const job = await queueJob(tx, {
      kind: "ServerDestroy",
      organisationId,
      region: server.region,
      resourceType: "server",
      resourceId: server.id,
      requestedBy: { type: "system", id: null, name: "removal buffer" },
      requestId,
    });
    await tx
      .updateTable("server")
      .set({
        status: "deleting",
        status_code: region.isAway ? "region_unreachable" : null,
        status_message: region.isAway
          ? `Region ${server.region} does not answer; the server is destroyed once it is back`
          : null,
        status_job_id: region.isAway ? job.id : null,
        generation: sql<number>`generation + 1`,
        updated_at: sql<Date>`clock_timestamp()`,
      })
      .where("organisation_id", "=", organisationId)
      .where("id", "=", serverId)
      .execute();
    await tx
      .insertInto("audit")
      .values({
        id: newId("aud"),
        organisation_id: organisationId,
        region: server.region,
        actor_type: "system",
        actor_id: null,
        actor_name: "removal buffer",
        action: "server.purge" satisfies SystemAuditAction,
        resource: serverId,
        outcome: "succeeded",
        http_status: 200,
        code: null,
        request_id: requestId,
        source_address: null,
        details: JSON.stringify({ job: job.id }),
      })
      .execute();
    return true;
  });
}

/** By Postgres' clock, like every time that decides something. */
async function scanRegion(tx: Tx, organisationId: string, serverId: string) {
  return tx
    .selectFrom("server")
    .innerJoin("region", "region.slug", "server.region")
    .select([
      sql<boolean>`coalesce(server.purge_at <= clock_timestamp(), false)`.as("isDue"),
      waitsForRestoreToEnd.as("waitsForRestore"),
      sql<boolean>`coalesce(region.health_at < clock_timestamp() - make_interval(secs => ${silenceSeconds}), true)`.as(
        "isAway",
      ),
    ])
    .where("server.organisation_id", "=", organisationId)
    .where("server.id", "=", serverId)
    .executeTakeFirstOrThrow();
}

/** The safety net under the tasks: whatever is due and still marked is expired now. */
export async function sweepRemovalBuffers({ db }: Work): Promise<number> {
  const due = await systemQuery(db, "the sweep looks into all removal buffers")
    .selectFrom("server")
    .innerJoin("region", "region.slug", "server.region")
    .select(["server.organisation_id", "server.id"])
    .where("server.status", "=", "pending_deletion")
    .where("server.locked_at", "is", null)
    .where("server.purge_at", "<=", sql<Date>`clock_timestamp()`)
    .where((is) => is.not(waitsForRestoreToEnd))
    .orderBy("server.purge_at")
    .limit(1000)
    .execute();
  let expired = 0;
  for (const server of due)
    if (await expireRemovalBuffer({ db }, server.organisation_id, server.id)) expired += 1;
  return expired;
}
