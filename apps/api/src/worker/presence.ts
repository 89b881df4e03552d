import { sql } from "kysely";
import type pg from "pg";
import type { Database } from "../platform/database.ts";

/** A worker without a heartbeat for this long is gone; a running one writes one every five seconds. */
const goneAfterSeconds = 20;
/** The rows of processes that were killed go after this. */
const forgottenAfterSeconds = 3_600;

/** Writes this worker's heartbeat. */
export async function noteWorker(owner: Pick<pg.Pool, "query">, id: string): Promise<void> {
  await owner.query(
    `with forgotten as (
       delete from worker_process where seen_at < clock_timestamp() - make_interval(secs => $2)
     )
     insert into worker_process (id) values ($1)
     on conflict (id) do update set seen_at = clock_timestamp()`,
    [id, forgottenAfterSeconds],
  );
}

export async function removeWorker(owner: Pick<pg.Pool, "query">, id: string): Promise<void> {
  await owner.query("delete from worker_process where id = $1", [id]);
}

/** Whether any worker has written a heartbeat recently. */
export async function hasLiveWorker(db: Database): Promise<boolean> {
  const row = await db
    .selectFrom("worker_process")
    .select("id")
    .where("seen_at", ">", sql<Date>`clock_timestamp() - make_interval(secs => ${sql.lit(goneAfterSeconds)})`)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
