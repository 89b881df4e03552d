import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";

/**
 * How many servers count towards the organisation's limit: all that are not gone, those in the removal buffer included,
 * so that taking one out of it needs no room. Counted from the rows, under the organisation's row lock, so that of
 * creates at the same time each sees the ones before it. The lock lets references to the organisation pass.
 */
export async function countServersUnderLock(tx: Tx, organisationId: string): Promise<number> {
  await tx
    .selectFrom("organisation")
    .select("id")
    .where("id", "=", organisationId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
  const { used } = await tx
    .selectFrom("server")
    .select(sql<number>`count(*)::integer`.as("used"))
    .where("organisation_id", "=", organisationId)
    .where("deleted_at", "is", null)
    .executeTakeFirstOrThrow();
  return used;
}
