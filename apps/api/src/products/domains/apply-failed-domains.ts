import { sql } from "kysely";
import { type Database, systemQuery } from "../../platform/database.ts";
import { lockOpenJobs } from "../../platform/jobs.ts";
import { actAs } from "../../platform/mutation.ts";
import { inTransaction } from "../../platform/transaction.ts";
import { applyAgain, bySystem } from "./apply.ts";
import { type DomainRow, lockDomain, markPending } from "./store.ts";

/** How many one run applies; the next one continues. */
const mostAtOnce = 200;
const pauseMinutes = 60;

/**
 * Queues jobs for domains whose last job has failed, an hour after that: a provider that was away for longer than a job
 * waits leaves nothing behind that somebody has to do.
 *
 * @returns how many
 */
export async function applyFailedDomains(db: Database): Promise<number> {
  const failed = await systemQuery(db, "the worker looks after the domains of all organisations")
    .selectFrom("domain")
    .select(["id", "organisation_id"])
    .where("is_verified", "=", true)
    .where("status_code", "is not", null)
    .where("updated_at", "<", sql<Date>`clock_timestamp() - make_interval(mins => ${pauseMinutes})`)
    .orderBy("updated_at")
    .limit(mostAtOnce)
    .execute();
  let applied = 0;
  for (const domain of failed) if (await applyFailed(db, domain)) applied += 1;
  return applied;
}

function applyFailed(db: Database, found: Pick<DomainRow, "id" | "organisation_id">): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    actAs(tx, found.organisation_id);
    const domain = await lockDomain(tx, found.organisation_id, found.id);
    if (domain === null || domain.status_code === null) return false;
    const { queued, running } = await lockOpenJobs(tx, domain.organisation_id, domain.id);
    if (queued !== null || running !== null) return false;
    await markPending(tx, domain.organisation_id, domain.id);
    await applyAgain(tx, domain, bySystem("after a failure"));
    return true;
  });
}
