import { sql } from "kysely";
import type pg from "pg";
import type { Database } from "../platform/database.ts";

/** A worker without a heartbeat for this long is gone; a running one writes one every five seconds. */
export const goneAfterSeconds = 20;
/** The rows of processes that were killed go after this. */
const forgottenAfterSeconds = 3_600;

/** Writes this worker's heartbeat, and the names under which it holds tasks. */
export async function noteWorker(
  owner: Pick<pg.Pool, "query">,
  id: string,
  holders: readonly string[],
): Promise<void> {
  await owner.query(
    `with forgotten as (
       delete from worker_process where seen_at < clock_timestamp() - make_interval(secs => $2)
     )
     insert into worker_process (id, holders) values ($1, $3)
     on conflict (id) do update set seen_at = clock_timestamp(), holders = excluded.holders`,
    [id, forgottenAfterSeconds, holders],
  );
}

export async function removeWorker(owner: Pick<pg.Pool, "query">, id: string): Promise<void> {
  await owner.query("delete from worker_process where id = $1", [id]);
}

const isLive = sql<boolean>`seen_at > clock_timestamp() - make_interval(secs => ${sql.lit(goneAfterSeconds)})`;

/** Whether any worker has written a heartbeat recently. */
export async function hasLiveWorker(db: Database): Promise<boolean> {
  const row = await db.selectFrom("worker_process").select("id").where(isLive).limit(1).executeTakeFirst();
  return row !== undefined;
}

/** How many workers have written a heartbeat recently. */
export async function countLiveWorkers(db: Database): Promise<number> {
  const row = await db
    .selectFrom("worker_process")
    .select(sql<number>`count(*)::integer`.as("live"))
    .where(isLive)
    .executeTakeFirstOrThrow();
  return row.live;
}

/** Longer than any pause between two heartbeats of a worker that has taken a task right after it has started. */
const heldAtLeastSeconds = 60;

/**
 * Gives back the tasks that workers held when they were killed: graphile-worker itself does so after four hours, and until
 * then nothing else of the same queue is done, such as all mails.
 *
 * @param tasks the names of the tasks of the control plane; regions' jobs have leases
 * @returns how many holders were gone
 */
export async function releaseTasksOfTheDead(
  owner: Pick<pg.Pool | pg.ClientBase, "query">,
  tasks: readonly string[],
): Promise<number> {
  const { rows } = await owner.query<{ gone: number }>(
    `with dead as (
       select distinct held.locked_by as holder
         from graphile_worker._private_jobs held join graphile_worker._private_tasks task on task.id = held.task_id
        where task.identifier = any ($1)
          and held.locked_at < clock_timestamp() - make_interval(secs => $2)
          and not exists (
            select from worker_process live
             where held.locked_by = any (live.holders)
               and live.seen_at > clock_timestamp() - make_interval(secs => $3))
     ), released as materialized (
       select graphile_worker.force_unlock_workers(array(select holder from dead))
     )
     select (select count(*)::integer from dead) as gone from released`,
    [tasks, heldAtLeastSeconds, goneAfterSeconds],
  );
  return rows[0]?.gone ?? 0;
}
