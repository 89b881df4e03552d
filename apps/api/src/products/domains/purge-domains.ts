import { sql } from "kysely";
import { type Database, systemQuery } from "../../platform/database.ts";
import { actAs } from "../../platform/mutation.ts";
import { waitsForRestoreToEnd } from "../../platform/restored-regions.ts";
import { inTransaction } from "../../platform/transaction.ts";
import { bySystem } from "./apply.ts";
import { removeDomain } from "./remove-domain.ts";
import { type DomainRow, lockDomain } from "./store.ts";
import { noteSystemChange } from "./system-audit.ts";

/** How many one run removes; the next one continues. */
const mostAtOnce = 500;

/** Queues the jobs that remove the domains whose removal buffer is over. @returns how many */
export async function purgeDomains(db: Database): Promise<number> {
  const due = await systemQuery(db, "the sweep looks into all removal buffers")
    .selectFrom("domain")
    .select(["id", "organisation_id"])
    .where("status", "=", "pending_deletion")
    .where("purge_at", "<=", sql<Date>`clock_timestamp()`)
    // Their deletion may have been cancelled after the moment of a restored backup. Domains are of no region.
    .where(sql<boolean>`not exists (select from region where ${waitsForRestoreToEnd})`)
    .orderBy("purge_at")
    .limit(mostAtOnce)
    .execute();
  let purged = 0;
  for (const domain of due) if (await purgeDomain(db, domain)) purged += 1;
  return purged;
}

/**
 * A cancel-deletion takes the same row lock, so one of the two finds the other's work done and does nothing.
 *
 * @returns whether this call has begun the removal
 */
async function purgeDomain(db: Database, found: Pick<DomainRow, "id" | "organisation_id">): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    actAs(tx, found.organisation_id);
    const domain = await lockDomain(tx, found.organisation_id, found.id);
    if (domain?.status !== "pending_deletion" || !(await isDue(tx, domain))) return false;
    const by = bySystem("removal buffer");
    const job = await removeDomain(tx, domain, by);
    await noteSystemChange(tx, domain, {
      action: "domain.purge",
      by,
      details: { name: domain.name, job: job.id },
    });
    return true;
  });
}

/** It may have been taken out of the buffer, and put into it again. By Postgres' clock. */
async function isDue(
  tx: Parameters<typeof lockDomain>[0],
  { id, organisation_id }: Pick<DomainRow, "id" | "organisation_id">,
): Promise<boolean> {
  const row = await tx
    .selectFrom("domain")
    .select("id")
    .where("organisation_id", "=", organisation_id)
    .where("id", "=", id)
    .where("purge_at", "<=", sql<Date>`clock_timestamp()`)
    .executeTakeFirst();
  return row !== undefined;
}
