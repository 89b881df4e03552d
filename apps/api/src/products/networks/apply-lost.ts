import { sql } from "kysely";
import { type Database, systemQuery } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";
import { actAs } from "../../platform/mutation.ts";
import { type Asker, applyAgain, requestNetworkApply } from "./apply.ts";
import { hasOpenJob, lockNetwork } from "./store.ts";

/** What one report or one turn of the worker writes at most; the next goes on. */
const mostAtOnce = 200;
/** A report may have been on its way since before a job ended. */
const reportSeconds = 30;

type Candidate = { readonly id: string; readonly organisation_id: string };

/**
 * Has the edge told again of the networks that it should hold and does not: it was switched off and on, or somebody took
 * their namespaces away.
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
 * Has an edge told of the networks that were made before the region had one.
 *
 * @returns how many
 */
export async function applyFirstTime(db: Database, region: string): Promise<number> {
  const untold = await systemQuery(db, "an edge holds the networks of all organisations in its region")
    .selectFrom("network")
    .select(["id", "organisation_id"])
    .where("region", "=", region)
    .where("on_edge", "=", false)
    .limit(mostAtOnce)
    .execute();
  for (const { id, organisation_id } of untold)
    await db.transaction().execute(async (tx) => {
      await actAs(tx, organisation_id);
      const network = await lockNetwork(tx, organisation_id, id);
      if (network?.on_edge !== false) return;
      await requestNetworkApply(tx, organisation_id, id, bySystem("the region has an edge"));
    });
  return untold.length;
}

/**
 * Has the edges compare the networks with what they hold that no job has looked at for so long: a rule or a link that
 * somebody changed by hand is put right, and nothing is done where all is well.
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
    // One that cannot be reached now would only be asked again and again.
    .where(sql<boolean>`(region.edge ->> 'reachable')::boolean`)
    .orderBy("network.applied_at")
    .limit(mostAtOnce)
    .execute();
  return applyEach(db, unseen, "regular look");
}

const bySystem = (name: string): Asker => ({
  requestedBy: { type: "system", id: null, name },
  requestId: newId("req"),
});

async function applyEach(db: Database, networks: readonly Candidate[], name: string): Promise<number> {
  let applied = 0;
  for (const { id, organisation_id } of networks) {
    const isWritten = await db.transaction().execute(async (tx) => {
      await actAs(tx, organisation_id);
      const network = await lockNetwork(tx, organisation_id, id);
      // Somebody else has changed it since: their job brings all of it.
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
