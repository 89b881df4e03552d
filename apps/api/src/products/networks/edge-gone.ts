import { sql } from "kysely";
import { type Database, systemQuery, type Tx } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";
import { handlerOf, type JobHandlers } from "../../platform/job-handler.ts";
import { cancelQueuedJob, lockOpenJobs } from "../../platform/jobs.ts";
import { actAs } from "../../platform/mutation.ts";
import type { Settings } from "../../platform/settings.ts";
import { inTransaction } from "../../platform/transaction.ts";
import { requestNetworkApply } from "./apply.ts";
import { hasOpenJob, lockNetwork } from "./store.ts";

/** How much one report writes at most; the next one continues. */
const mostAtOnce = 200;
/**
 * Region files are changed one agent after the other: an agent that still has the edge claims waiting jobs
 * well before this.
 */
const graceSeconds = 60;
const edgeMissing = "edge_missing";
const message = "The region's agents have no edge any more; the network is applied again when they do.";

type Context = { readonly handlers: JobHandlers; readonly settings: Settings };
type Candidate = { readonly organisation_id: string; readonly network_id: string };

/**
 * Ends the jobs that no agent can run: the region's agents report that their region file has no edge. What
 * was applied to the edge stays recorded as present, because it cannot be checked.
 *
 * @returns how many
 */
export async function endStrandedJobs(db: Database, region: string, context: Context): Promise<number> {
  const stranded = await systemQuery(db, "an edge holds the networks of all organisations in its region")
    .selectFrom("job")
    .innerJoin("region", "region.slug", "job.region")
    .select(["job.organisation_id", "job.resource_id as network_id"])
    .where("region.slug", "=", region)
    .where("region.has_edge", "=", false)
    .where("job.kind", "=", "NetworkApply")
    .where("job.status", "=", "queued")
    .where("job.run_at", "<", sql<Date>`clock_timestamp() - make_interval(secs => ${graceSeconds})`)
    .orderBy("job.run_at")
    .limit(mostAtOnce)
    .execute();
  let ended = 0;
  for (const each of stranded)
    if (await inTransaction(db, (tx) => endStranded(tx, region, each, context))) ended += 1;
  return ended;
}

async function endStranded(
  tx: Tx,
  region: string,
  { organisation_id, network_id }: Candidate,
  { handlers, settings }: Context,
): Promise<boolean> {
  const jobs = handlerOf(handlers, { resource_type: "network" });
  actAs(tx, organisation_id);
  await jobs.lockResource(tx, { organisation_id, resource_id: network_id });
  const { queued } = await lockOpenJobs(tx, organisation_id, network_id);
  const { has_edge } = await tx
    .selectFrom("region")
    .select("has_edge")
    .where("slug", "=", region)
    .executeTakeFirstOrThrow();
  // Claimed, or an agent with an edge is back.
  if (queued === null || has_edge) return false;
  cancelQueuedJob(tx, queued, edgeMissing, message);
  await jobs.settle(tx, queued, { status: "cancelled", power: null, code: edgeMissing, message }, settings);
  return true;
}

/**
 * Queues jobs for what could not be applied while the region had no edge.
 *
 * @returns how many networks
 */
export async function applyStranded(db: Database, region: string): Promise<number> {
  const stranded = await systemQuery(db, "an edge holds the networks of all organisations in its region")
    .selectFrom("network")
    .innerJoin("job", "job.id", "network.status_job_id")
    .select(["network.id", "network.organisation_id"])
    .where("network.region", "=", region)
    .where("network.on_edge", "=", true)
    .where("network.status_code", "is not", null)
    .where("job.status", "=", "cancelled")
    .where(sql<string>`job.error ->> 'code'`, "=", edgeMissing)
    .limit(mostAtOnce)
    .execute();
  for (const { id, organisation_id } of stranded)
    await inTransaction(db, async (tx) => {
      actAs(tx, organisation_id);
      const network = await lockNetwork(tx, organisation_id, id);
      if (network === null || (await hasOpenJob(tx, organisation_id, id))) return;
      await requestNetworkApply(tx, organisation_id, id, {
        requestedBy: { type: "system", id: null, name: "the region has an edge again" },
        requestId: newId("req"),
      });
    });
  return stranded.length;
}
