import { sql } from "kysely";
import { type Database, systemQuery } from "../platform/database.ts";
import { deleteOldSessions } from "../products/consoles/index.ts";
import { foldLongPoolCounts } from "../products/ip-pools/index.ts";
import { deleteOldTraffic } from "../products/load-balancers/index.ts";
import { deleteOldInvitations } from "../products/members/index.ts";
import { foldLongCounts } from "../products/quotas/index.ts";
import { balanceUsage } from "../products/usage/index.ts";

/** How much the clean-up deleted or released. */
export type Cleaned = {
  readonly idempotencyKeys: number;
  readonly loginFailures: number;
  readonly vmids: number;
  readonly invitations: number;
  /** Console sessions that were over long ago. */
  readonly consoles: number;
};

/** Deletes what has expired, frees the VM numbers whose quarantine is over, shortens the counts of quotas and pools, and adds usage up. */
export async function cleanUp(connection: Database): Promise<Cleaned> {
  const db = systemQuery(connection, "the clean-up is of no one organisation");
  const keys = await db
    .deleteFrom("idempotency_key")
    .where("created_at", "<", sql<Date>`now() - interval '24 hours'`)
    .executeTakeFirst();
  const failures = await db
    .deleteFrom("login_failure")
    .where("at", "<", sql<Date>`now() - interval '1 day'`)
    .executeTakeFirst();
  await db.deleteFrom("password_reset").where("expires_at", "<", sql<Date>`now()`).execute();
  await db.deleteFrom("region_enrolment").where("expires_at", "<", sql<Date>`now()`).execute();
  await db
    .deleteFrom("region_agent")
    .where("reported_at", "<", sql<Date>`now() - interval '1 day'`)
    .execute();
  await db.deleteFrom("sign_in").where("expires_at", "<", sql<Date>`now()`).execute();
  await db.deleteFrom("spent_challenge").where("at", "<", sql<Date>`now() - interval '1 hour'`).execute();
  const vmids = await db
    .updateTable("region_vmid")
    .set({ state: "free", server_id: null, free_after: null })
    .where("state", "=", "tombstone")
    .where("free_after", "<", sql<Date>`clock_timestamp()`)
    .executeTakeFirst();
  await deleteOldTraffic(connection);
  await foldLongCounts(db);
  await foldLongPoolCounts(db);
  await balanceUsage(db);
  return {
    invitations: await deleteOldInvitations(connection),
    consoles: await deleteOldSessions(connection),
    idempotencyKeys: Number(keys.numDeletedRows),
    loginFailures: Number(failures.numDeletedRows),
    vmids: Number(vmids.numUpdatedRows),
  };
}
