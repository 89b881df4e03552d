import { setTimeout as delay } from "node:timers/promises";
import { type ApplyOptions, applyMigrations, MigrationBlocked } from "@kule/database/apply-migrations";
import { latestMigration, migrate } from "@kule/database/migrate";
import type { Migration } from "@kule/database/migrations/migration-steps";
import { named } from "@kule/database/migrations/migrations";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type FreshDatabase, freshDatabase } from "./database.ts";

/** A table as large as an installation's largest, which four clients use all the time. */
const rows = 1_000_000;
/** The longest that anybody waits for a migration: one try for a lock, and what the machine is late. */
const mostWaitMs = 1_000;

let database: FreshDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await freshDatabase();
  pool = new pg.Pool({ connectionString: database.ownerUrl, max: 12 });
  await pool.query("create table note (id integer primary key, text text not null, length integer)");
  await pool.query(`insert into note select n, 'note ' || n from generate_series(1, ${rows}) n`);
  await pool.query("create table topic (id integer primary key)");
  await pool.query("insert into topic select generate_series(1, 10)");
}, 300_000);
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});
beforeEach(async () => {
  await pool.query("delete from kule_migration where name <> $1", [latestMigration]);
});

/** As `migrate` does it. */
async function apply(migrations: ReadonlyMap<string, Migration>, options: ApplyOptions = {}) {
  const client = await pool.connect();
  try {
    return await applyMigrations(client, pool, migrations, options);
  } finally {
    client.release(true);
  }
}

const names = async () =>
  (await pool.query<{ name: string }>("select name from kule_migration order by timestamp, name")).rows
    .map(({ name }) => name)
    .filter((name) => name !== latestMigration);

/** Uses the table while the work runs, and says how long the longest wait for a lock of others was. */
async function underLoad(
  work: () => Promise<unknown>,
): Promise<{ longestWaitMs: number; statements: number }> {
  const over = new AbortController();
  let statements = 0;
  const client = async () => {
    const connection = new pg.Client({ connectionString: database.ownerUrl, application_name: "load" });
    await connection.connect();
    while (!over.signal.aborted) {
      const id = 1 + Math.floor(Math.random() * rows);
      await connection.query("select text from note where id = $1", [id]);
      await connection.query("update note set text = text || '.' where id = $1", [id]);
      await connection.query("insert into note (id, text) values ($1, 'new') on conflict (id) do nothing", [
        id,
      ]);
      statements += 3;
    }
    await connection.end();
  };
  // What Postgres says of waiting is not made longer by a busy machine, as the clients' own clocks would be.
  let longestWaitMs = 0;
  const watch = async () => {
    const connection = new pg.Client({ connectionString: database.ownerUrl });
    await connection.connect();
    while (!over.signal.aborted) {
      const { rows: found } = await connection.query<{ ms: number | null }>(
        `select max(extract(epoch from clock_timestamp() - l.waitstart) * 1000)::float as ms
           from pg_locks l join pg_stat_activity a using (pid)
          where not l.granted and a.application_name = 'load' and l.locktype = 'relation'`,
      );
      longestWaitMs = Math.max(longestWaitMs, found[0]?.ms ?? 0);
      await delay(10);
    }
    await connection.end();
  };
  const running = Promise.all([client(), client(), client(), client(), watch()]);
  try {
    await work();
  } finally {
    over.abort();
    await running;
  }
  return { longestWaitMs, statements };
}

describe("a migration of a large table that is in use", { timeout: 300_000 }, () => {
  it("keeps nobody waiting for longer than a moment when it is written as the check wants it", async () => {
    const good = new Map([
      named("0002-good", [
        "alter table note add column topic integer, add column checked_at timestamptz not null default now()",
        {
          untilNone:
            "update note set length = 0 where id in (select id from note where length is null limit 5000)",
        },
        { index: "create index concurrently note_topic on note (topic)" },
        "alter table note add constraint length_known check (length is not null) not valid",
        "alter table note validate constraint length_known",
        "alter table note alter column length set not null; alter table note drop constraint length_known",
        "alter table note add constraint topic_exists foreign key (topic) references topic (id) not valid",
        "alter table note validate constraint topic_exists",
        { alone: "drop index concurrently if exists note_topic" },
      ]),
    ]);
    const told: string[] = [];
    const { longestWaitMs, statements } = await underLoad(async () => {
      // While the load writes new rows without it, as the release before would.
      await pool.query("alter table note alter column length set default 0");
      await apply(good, { tell: (text) => told.push(text) });
    });
    expect(longestWaitMs).toBeLessThan(mostWaitMs);
    expect(statements).toBeGreaterThan(100);
    expect(await names()).toEqual([...good.keys()]);
    expect(told[0]).toMatch(/^0002-good-[0-9a-f]{12}: step 1 of 9$/);
    const { rows: found } = await pool.query("select count(*)::integer as n from note where length is null");
    expect(found).toEqual([{ n: 0 }]);
  });

  it("keeps everybody waiting when it is written as the check refuses it: the measurement sees it", async () => {
    const bad = new Map([named("0002-bad", "alter table note alter column id type bigint")]);
    const { longestWaitMs } = await underLoad(() => apply(bad));
    // One try for a lock is shorter.
    expect(longestWaitMs).toBeGreaterThan(400);
  });

  it("tries again for as long as a long transaction has its table, and lets everybody else pass between", async () => {
    const reader = await pool.connect();
    await reader.query("begin; select from note limit 1");
    const told: string[] = [];
    let isApplied = false;
    const { longestWaitMs } = await underLoad(async () => {
      const applying = apply(new Map([named("0002-patient", "alter table note add column remark text")]), {
        tell: (text) => told.push(text),
      }).then(() => (isApplied = true));
      await expect.poll(() => told.length, { timeout: 60_000 }).toBe(2);
      await delay(1_500);
      expect(isApplied).toBe(false);
      await reader.query("commit");
      await applying;
    });
    reader.release();
    expect(longestWaitMs).toBeLessThan(mostWaitMs);
    expect(told[1]).toMatch(/waits for a lock, open transactions: process \d+ of .* for \d+ s/);
  });

  it("says who has its table when it gives up, and has done nothing then", async () => {
    const reader = await pool.connect();
    await reader.query("begin; select from note limit 1");
    const migrations = new Map([
      named("0002-blocked", ["create table made_before ()", "alter table note add column other text"]),
    ]);
    const failing = apply(migrations, { patienceMs: 500, lockTimeoutMs: 100 });
    await expect(failing).rejects.toThrow(MigrationBlocked);
    await expect(failing).rejects.toThrow(/got no lock in .*open transactions: process \d+/);
    const [name] = migrations.keys();
    // The first step is done, and not done again.
    expect(await names()).toEqual([`${name}#1`]);
    await reader.query("commit");
    reader.release();
    expect(await apply(migrations)).toEqual([name]);
    expect(await names()).toEqual([name]);
  });
});

describe("a migration that is interrupted", () => {
  it("is continued at the step that was not done", async () => {
    const [name, steps] = named("0002-interrupted", [
      "create table once ()",
      "insert into topic values (11)",
      "select 1 / (select count(*) from topic where id = 12)",
    ]);
    const migrations = new Map([[name, steps]]);
    await expect(apply(migrations)).rejects.toThrow("division by zero");
    expect(await names()).toEqual([`${name}#1`, `${name}#2`]);
    // An unfinished migration is one of this build: `migrate` and `doctor` do not take it for another's.
    await pool.query("insert into topic values (12)");
    expect(await apply(migrations)).toEqual([name]);
    expect(await names()).toEqual([name]);
  });

  it("makes an index anew that was left half made", async () => {
    await pool.query("create table half (id integer); insert into half values (1), (1)");
    const migrations = new Map([
      named("0002-half", [{ index: "create unique index concurrently half_id on half (id)" }]),
    ]);
    await expect(apply(migrations)).rejects.toThrow("could not create unique index");
    const state = async () =>
      (await pool.query("select indisvalid from pg_index where indexrelid = 'half_id'::regclass")).rows;
    expect(await state()).toEqual([{ indisvalid: false }]);
    await pool.query("delete from half where ctid = '(0,1)'");
    await apply(migrations);
    expect(await state()).toEqual([{ indisvalid: true }]);
    // Done, but not noted: the machine was lost in between.
    await pool.query("delete from kule_migration where name <> $1", [latestMigration]);
    expect(await apply(migrations)).toHaveLength(1);
  });
});

it("two machines that migrate a new database at once apply each migration once", async () => {
  await pool.query(`create database ${database.name}_two`);
  const url = new URL(database.ownerUrl);
  url.pathname = `/${database.name}_two`;
  const told: string[] = [];
  try {
    const both = await Promise.all([1, 2].map(() => migrate(url.href, { tell: (text) => told.push(text) })));
    expect(both.flat()).toEqual([latestMigration]);
    expect(told).toContain("another process migrates this database: waiting for its end");
  } finally {
    await pool.query(`drop database ${database.name}_two with (force)`);
  }
}, 120_000);
