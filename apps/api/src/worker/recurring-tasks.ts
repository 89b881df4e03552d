import type pg from "pg";
import { newId } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import { primaryPool } from "../platform/primary-client.ts";
import { noteWorker, removeWorker } from "./presence.ts";

export type RecurringTask = {
  readonly name: string;
  /** Half a minute is the least that is worth it. */
  readonly everyMinutes: number;
  /** How often a failed run is tried; the next interval adds it anyway. */
  readonly maxAttempts: number;
};

/** How often a worker checks whether something is due, by a monotonic clock. */
const checkEveryMs = 5_000;

/**
 * Adds the tasks that are due and were not added yet, whichever worker checks first. Postgres' clock divides
 * time into intervals, and an interval is only compared for being a different one, so that a clock that was
 * ahead delays nothing. graphile's own cron uses the worker's clock for when a task is due, and one worker
 * two hours ahead keeps all workers from adding anything for two hours. The table of intervals is graphile's.
 *
 * @param owner of graphile-worker's tables
 * @returns the names of what was added
 */
export async function addDueTasks(
  owner: Pick<pg.Pool, "query">,
  tasks: readonly RecurringTask[],
): Promise<readonly string[]> {
  const { rows } = await owner.query<{ name: string }>(
    `with task as (
       select name, max_attempts,
              date_bin(make_interval(secs => minutes * 60), clock_timestamp(), timestamptz 'epoch') as turn
         from unnest($1::text[], $2::double precision[], $3::integer[]) as listed (name, minutes, max_attempts)
     ), taken as (
       insert into graphile_worker._private_known_crontabs as known (identifier, known_since, last_execution)
       select name, now(), turn from task
       on conflict (identifier) do update set last_execution = excluded.last_execution
         where known.last_execution is distinct from excluded.last_execution
       returning identifier
     ), added as materialized (
       select name, graphile_worker.add_job(name, run_at => now(), max_attempts => max_attempts, job_key => name)
         from task join taken on taken.identifier = task.name
     )
     select name from added`,
    [
      tasks.map(({ name }) => name),
      tasks.map(({ everyMinutes }) => everyMinutes),
      tasks.map(({ maxAttempts }) => maxAttempts),
    ],
  );
  return rows.map(({ name }) => name);
}

/**
 * Adds recurring tasks when they are due, until stopped, and writes this worker's heartbeat each time. A
 * failed check is followed by another.
 */
export function keepAddingTasks(
  ownerUrl: string,
  tasks: readonly RecurringTask[],
  holders: ReadonlySet<string>,
  log: Logger,
): { stop(): Promise<void> } {
  const owner = primaryPool(
    { connectionString: ownerUrl, max: 1, application_name: "kule-worker-tasks" },
    (error) => log.warn({ err: error }, "the connection that adds tasks broke"),
  );
  const id = newId("wrk");
  let looking: Promise<void> | null = null;
  const look = () => {
    looking ??= noteWorker(owner, id, [...holders])
      .then(() => addDueTasks(owner, tasks))
      .then(
        (added) => log.debug({ added }, "added due tasks"),
        (error: unknown) => log.warn({ err: error }, "could not add due tasks; retrying"),
      )
      .finally(() => {
        looking = null;
      });
  };
  look();
  const timer = setInterval(look, checkEveryMs);
  let stopped: Promise<void> | null = null;
  const end = async () => {
    clearInterval(timer);
    await looking;
    await removeWorker(owner, id).catch(() => {});
    await owner.end();
  };
  return {
    stop() {
      stopped ??= end();
      return stopped;
    },
  };
}
