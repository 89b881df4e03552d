import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import {
  indexNameIn,
  type Migration,
  type MigrationStep,
  markOf,
  stepsOf,
} from "./migrations/migration-steps.ts";

export type ApplyOptions = {
  /** Told what is being done and what it waits for, a line each. */
  readonly tell?: (text: string) => void;
  /**
   * How long a step waits for a lock. Everybody who wants the same table waits behind it, so it is short, and the step is tried
   * again later.
   */
  readonly lockTimeoutMs?: number;
  /** After so much time a step that got no lock fails. */
  readonly patienceMs?: number;
};

/** A step found its tables locked by others again and again; nothing of it has been done. */
export class MigrationBlocked extends Error {
  override name = "MigrationBlocked";
}

const lockTimeoutMs = 300;
const patienceMs = 10 * 60_000;
const longestPauseMs = 5_000;
const tellEveryMs = 10_000;
/** lock_not_available, deadlock_detected */
const isBlocked = (error: unknown) => ["55P03", "40P01"].includes(String((error as { code?: unknown }).code));

/**
 * Applies the migrations that the database lacks, step by step. Others may use it meanwhile; no other may migrate.
 *
 * @param client with no open transaction; its settings for timeouts are changed
 * @param watcher another connection, which asks how far an index is
 * @returns the names of those that were completed now
 * @throws MigrationBlocked
 */
export async function applyMigrations(
  client: pg.ClientBase,
  watcher: Pick<pg.Pool, "query">,
  migrations: ReadonlyMap<string, Migration>,
  options: ApplyOptions = {},
): Promise<readonly string[]> {
  // As Kysely's migrator, which was used before, made it.
  await client.query(
    "create table if not exists kule_migration (name varchar(255) primary key, timestamp varchar(255) not null)",
  );
  await client.query("set statement_timeout = 0");
  const { rows } = await client.query<{ name: string }>("select name from kule_migration");
  const done = new Set(rows.map(({ name }) => name));
  const applied: string[] = [];
  for (const [name, migration] of migrations) {
    if (done.has(name)) continue;
    const steps = stepsOf(migration);
    for (const [index, step] of steps.entries()) {
      const number = index + 1;
      if (done.has(markOf(name, number))) continue;
      options.tell?.(`${name}: step ${number} of ${steps.length}`);
      const run: StepRun = { client, watcher, name, options };
      await runStep(run, step, number === steps.length ? completed(name) : marked(markOf(name, number)));
    }
    applied.push(name);
  }
  return applied;
}

type StepRun = {
  readonly client: pg.ClientBase;
  readonly watcher: Pick<pg.Pool, "query">;
  readonly name: string;
  readonly options: ApplyOptions;
};

/** Records in the step's transaction, or after its end, that it is done. */
type Record = (client: pg.ClientBase) => Promise<unknown>;

const marked =
  (mark: string): Record =>
  (client) =>
    client.query("insert into kule_migration (name, timestamp) values ($1, $2)", [
      mark,
      new Date().toISOString(),
    ]);

const completed =
  (name: string): Record =>
  async (client) => {
    await client.query("delete from kule_migration where starts_with(name, $1)", [
      markOf(name, 0).slice(0, -1),
    ]);
    await marked(name)(client);
  };

async function runStep(run: StepRun, step: MigrationStep, record: Record): Promise<void> {
  if (typeof step === "string") {
    await inTransaction(run, async () => {
      await run.client.query(step);
      await record(run.client);
    });
    return;
  }
  if ("untilNone" in step) await repeated(run, step.untilNone);
  else {
    // What runs concurrently waits for others and keeps nobody waiting.
    await run.client.query("set lock_timeout = 0");
    if ("index" in step) await makeIndex(run, step.index);
    else await run.client.query(step.alone);
  }
  await inTransaction(run, () => record(run.client));
}

/** Tries again, with pauses, for as long as others hold the locks. */
async function inTransaction<T>(run: StepRun, work: () => Promise<T>): Promise<T> {
  const { client, name, options } = run;
  const startedAt = performance.now();
  let toldAt = Number.NEGATIVE_INFINITY;
  for (let tries = 0; ; tries += 1) {
    await client.query("begin");
    try {
      await client.query(`set local lock_timeout = ${options.lockTimeoutMs ?? lockTimeoutMs}`);
      const result = await work();
      await client.query("commit");
      return result;
    } catch (error) {
      await client.query("rollback");
      if (!isBlocked(error)) throw error;
    }
    const now = performance.now();
    if (now - startedAt > (options.patienceMs ?? patienceMs))
      throw new MigrationBlocked(
        `${name} got no lock in ${Math.round((now - startedAt) / 1000)} s: ${await holders(client)}. Nothing of this step was done; end what holds the lock and run the command again`,
      );
    if (now - toldAt > tellEveryMs) {
      toldAt = now;
      options.tell?.(`${name}: waits for a lock, ${await holders(client)}`);
    }
    await delay(Math.min(longestPauseMs, 100 * 2 ** tries) * (0.5 + Math.random() / 2));
  }
}

/** Whose transactions are the oldest. */
async function holders(client: pg.ClientBase): Promise<string> {
  const { rows } = await client.query<{ pid: number; who: string; seconds: number }>(
    `select pid, concat_ws(' ', usename, nullif(application_name, '')) as who,
            round(extract(epoch from clock_timestamp() - xact_start))::integer as seconds
       from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
      order by xact_start limit 3`,
  );
  if (rows.length === 0) return "whoever held it is gone";
  return `open transactions: ${rows.map(({ pid, who, seconds }) => `process ${pid} of ${who} for ${seconds} s`).join(", ")}`;
}

async function repeated(run: StepRun, statement: string): Promise<void> {
  let changed = 0;
  let toldAt = performance.now();
  for (;;) {
    const { rowCount } = await inTransaction(run, () => run.client.query(statement));
    if ((rowCount ?? 0) === 0) return;
    changed += rowCount ?? 0;
    if (performance.now() - toldAt > tellEveryMs) {
      toldAt = performance.now();
      run.options.tell?.(`${run.name}: ${changed} rows`);
    }
  }
}

async function makeIndex(run: StepRun, statement: string): Promise<void> {
  const { client, watcher, name, options } = run;
  const index = indexNameIn(statement);
  if (index === null)
    throw new Error(`${name}: a step for an index is \`create index concurrently NAME on …\``);
  const { rows } = await client.query<{ indisvalid: boolean }>(
    "select indisvalid from pg_index where indexrelid = to_regclass($1)",
    [index],
  );
  if (rows[0]?.indisvalid === true) return;
  // Of a run that was interrupted.
  if (rows[0] !== undefined) await client.query(`drop index concurrently ${index}`);
  const timer = setInterval(() => {
    void watcher
      .query<{ phase: string; share: number | null }>(
        `select phase, round(100.0 * blocks_done / nullif(blocks_total, 0))::integer as share
           from pg_stat_progress_create_index where datname = current_database()`,
      )
      .then(
        ({ rows: [at] }) => {
          if (at !== undefined)
            options.tell?.(`${name}: ${index}, ${at.phase}${at.share === null ? "" : `, ${at.share} %`}`);
        },
        () => {},
      );
  }, tellEveryMs);
  try {
    await client.query(statement);
  } finally {
    clearInterval(timer);
  }
}
