import { sql } from "kysely";
import type { Database } from "../../platform/database.ts";

/** A process without a heartbeat for this long is gone, and so are the sockets it held. */
export const goneAfterSeconds = 15;

/** About the process of a row of console_session that has one. */
export const replicaIsGone = sql<boolean>`console_session.replica_id is not null and not exists (
  select 1 from replica where replica.id = console_session.replica_id
     and replica.seen_at > clock_timestamp() - make_interval(secs => ${sql.lit(goneAfterSeconds)}))`;

export type Replica = { readonly id: string; readonly address: string; readonly secret: string };

/**
 * Writes this process' heartbeat; after a suspension that made it count as gone, it counts as present again.
 */
export async function noteReplica(db: Database, replica: Replica): Promise<void> {
  await db
    .insertInto("replica")
    .values({ ...replica })
    .onConflict((conflict) => conflict.column("id").doUpdateSet({ seen_at: sql<Date>`clock_timestamp()` }))
    .execute();
}

export async function removeReplica(db: Database, id: string): Promise<void> {
  await db.deleteFrom("replica").where("id", "=", id).execute();
}

/** The address of a process, unless it is gone. */
export async function findReplica(db: Database, id: string): Promise<Replica | null> {
  const row = await db
    .selectFrom("replica")
    .select(["id", "address", "secret"])
    .where("id", "=", id)
    .where("seen_at", ">", sql<Date>`clock_timestamp() - make_interval(secs => ${goneAfterSeconds})`)
    .executeTakeFirst();
  return row ?? null;
}
