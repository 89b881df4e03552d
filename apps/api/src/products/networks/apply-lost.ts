import { sql } from "kysely";
import { type Database, systemQuery } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";
import { actAs } from "../../platform/mutation.ts";
import { inTransaction } from "../../platform/transaction.ts";
import { applyAgain, type Requester, requestNetworkApply } from "./apply.ts";
import { hasOpenJob, lockNetwork } from "./store.ts";

/** How much one report or one run of the worker writes at most; the next one continues. */
const mostAtOnce = 200;
/** A report may have been sent before a job ended. */
const reportSeconds = 30;

type Candidate = { readonly id: string; readonly organisation_id: string };

/**
 * Queues jobs for the networks that a region's edge should have and has not: it was restarted, or their
 * namespaces were deleted.
 *
 * @param seen the networks that have a namespace there
 * @returns how many are missing
 */
export async function applyLostNetworks(
  db: Database,
  region: string,
  seen: readonly string[],
): Promise<number> {
  const lost = await systemQuery(db, "an edge holds the networks of all organisations in its region")
    .selectFrom("network")
    .select(["id", "organisation_id"])
    .where("region", "=", region)
    .where("on_edge", "=", true)
    .where("status", "=", "active")
    .where("applied_at", "<", sql<Date>`clock_timestamp() - make_interval(secs => ${reportSeconds})`)
    .where(sql<boolean>`network.id <> all (${[...seen]}::text[])`)
    .orderBy("applied_at")
    .limit(mostAtOnce)
    .execute();
  return applyEach(db, lost, "lost by the edge");
}

/**
 * Queues jobs for the networks that were created before the region had an edge.
 *
 * @returns how many
 */
export async function applyFirstTime(db: Database, region: string): Promise<number> {
  const unapplied = await systemQuery(db, "an edge holds the networks of all organisations in its region")
    .selectFrom("network")
    .select(["id", "organisation_id"])
    .where("region", "=", region)
    .where("on_edge", "=", false)
    .limit(mostAtOnce)
    .execute();
  for (const { id, organisation_id } of unapplied)
    await inTransaction(db, async (tx) => {
      actAs(tx, organisation_id);
      const network = await lockNetwork(tx, organisation_id, id);
      if (network?.on_edge !== false) return;
      await requestNetworkApply(tx, organisation_id, id, bySystem("the region has an edge"));
    });
  return unapplied.length;
}

/**
 * Queues jobs that compare the networks with the edges' state, for networks without a job for this long: a
 * rule or a link that was changed manually is corrected, and a network without drift is left as it is.
 */
export async function applyUnseenNetworks(db: Database, seconds: number): Promise<number> {
  const unseen = await systemQuery(db, "the worker looks after the networks of all")
    .selectFrom("network")
    .innerJoin("region", "region.slug", "network.region")
    .select(["network.id", "network.organisation_id"])
    .where("network.on_edge", "=", true)
    .where("network.status", "=", "active")
    .where("network.applied_at", "<", sql<Date>`clock_timestamp() - make_interval(secs => ${seconds})`)
    .where("region.has_edge", "=", true)
    .where("region.maintenance", "=", false)
    // An unreachable one would only get the same job again and again.
    .where(sql<boolean>`(region.edge ->> 'reachable')::boolean`)
    .orderBy("network.applied_at")
    .limit(mostAtOnce)
    .execute();
  return applyEach(db, unseen, "regular look");
}

const bySystem = (name: string): Requester => ({
  requestedBy: { type: "system", id: null, name },
  requestId: newId("req"),
});

async function applyEach(db: Database, networks: readonly Candidate[], name: string): Promise<number> {
  let applied = 0;
  for (const { id, organisation_id } of networks) {
    const isWritten = await inTransaction(db, async (tx) => {
      actAs(tx, organisation_id);
      const network = await lockNetwork(tx, organisation_id, id);
      // It was changed concurrently: the job of that change applies all of it.
      if (network?.status !== "active" || (await hasOpenJob(tx, organisation_id, id))) return false;
      await tx
        .updateTable("network")
        .set({ status: "updating" })
        .where("organisation_id", "=", organisation_id)
        .where("id", "=", id)
        .execute();
      await applyAgain(tx, network, bySystem(name));
      return true;
    });
    if (isWritten) applied += 1;
  }
  return applied;
}
