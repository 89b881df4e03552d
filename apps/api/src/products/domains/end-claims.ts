import { claimLifetimeMs } from "@kule/rules/domains/claim";
import { sql } from "kysely";
import { type Database, systemQuery } from "../../platform/database.ts";

/** How many one run ends or deletes; the next one continues. */
const mostAtOnce = 500;
/** So long an ended claim can be seen by its organisation. */
const keptDays = 30;

/** Ends the claims that were not proven in time, and deletes those that ended long ago. @returns how many of each */
export async function endClaims(
  connection: Database,
): Promise<{ readonly expired: number; readonly deleted: number }> {
  const db = systemQuery(connection, "claims of all organisations end by time");
  const expired = await db
    .updateTable("domain")
    .set({
      status: "expired",
      generation: sql<number>`generation + 1`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("id", "in", (query) =>
      query
        .selectFrom("domain")
        .select("id")
        .where("status", "=", "pending")
        .where(
          "created_at",
          "<",
          sql<Date>`clock_timestamp() - make_interval(secs => ${claimLifetimeMs / 1000})`,
        )
        .orderBy("created_at")
        .limit(mostAtOnce)
        // One that somebody is proving or deleting at this moment waits for the next run.
        .forUpdate()
        .skipLocked(),
    )
    .where("status", "=", "pending")
    .executeTakeFirst();
  const deleted = await db
    .deleteFrom("domain")
    .where("id", "in", (query) =>
      query
        .selectFrom("domain")
        .select("id")
        .where("status", "in", ["expired", "lost"])
        .where("updated_at", "<", sql<Date>`clock_timestamp() - make_interval(days => ${keptDays})`)
        .limit(mostAtOnce)
        .forUpdate()
        .skipLocked(),
    )
    .executeTakeFirst();
  return { expired: Number(expired.numUpdatedRows), deleted: Number(deleted.numDeletedRows) };
}
