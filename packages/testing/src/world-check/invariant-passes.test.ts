import { keys } from "@kule/invariants/keys";
import { type Finding, type Pass, runPass } from "@kule/invariants/run-pass";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type FreshDatabase, freshDatabase } from "../database.ts";
import { quietWorld } from "./quiet-world.ts";

const jobs = 3 * keys.job.rows;
let database: FreshDatabase;
let owner: pg.Client;
let progress: Pass["progress"] = {};
let open: readonly Finding[] = [];
let lastPassAt: string;

/** More than a pass reads of them, all a year old. */
beforeAll(async () => {
  database = await freshDatabase();
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  await owner.query(quietWorld);
  await owner.query("set session_replication_role = replica");
  await owner.query(`insert into job (id, organisation_id, region, kind, resource_type, resource_id, status, attempt, epoch,
                                      requested_by, request_id, created_at, finished_at)
    select 'job_0' || lpad(i::text, 8, '0'), 'org_a', 'r1', 'ServerStop', 'server', 'srv_run', 'succeeded', 1, 1, '{}', 'r',
           now() - interval '1 year', now() - interval '1 year' from generate_series(1, ${jobs}) i`);
  await owner.query(`insert into audit (id, at, actor_type, action, resource, outcome, http_status, request_id)
    select 'aud_' || id, finished_at, 'agent', 'job.end', id, 'succeeded', 200, 'r' from job where id like 'job_0%'`);
  await owner.query("analyze");
});
afterAll(async () => {
  await owner?.end();
  await database?.drop();
});
beforeEach(() => {
  progress = {};
  open = [];
  // Without a former pass the newest jobs are read, however old they are.
  lastPassAt = new Date().toISOString();
});

async function pass(): Promise<Pass> {
  const result = await runPass(owner, {
    ...{ progress, open, lastPassAt, intervalSeconds: 600, timeoutSeconds: 60 },
    onFailure: (_check, error) => {
      throw error;
    },
  });
  progress = result.progress;
  open = result.results.flatMap(({ findings }) => findings);
  lastPassAt = result.startedAt;
  return result;
}
const found = () => open.map(({ subject }) => subject);
const attempts = (job: string, to: number) =>
  owner.query("update job set attempt = $2 where id = $1", [job, to]);
/** Passes until the round of the key is over. */
async function passesOfARound(): Promise<number> {
  for (let passes = 1; passes <= 20; passes += 1) {
    await pass();
    if (progress.job?.at === null) return passes;
  }
  throw new Error("the round does not end");
}

test("a violation in the old rows is found within one round, and stays until its place is clean", async () => {
  const last = `job_0${String(jobs).padStart(8, "0")}`;
  await attempts(last, 2);
  await pass();
  expect(found()).toEqual([]);
  expect(progress.job?.complete_since).toBeNull();
  expect(await passesOfARound()).toBeGreaterThan(1);
  expect(found()).toEqual([last]);
  expect(progress.job?.complete_since).not.toBeNull();
  // The next slice is another one; the known place is read again.
  await pass();
  expect(found()).toEqual([last]);
  await attempts(last, 1);
  await pass();
  expect(found()).toEqual([]);
});

test("a violation in a recent row is found at the next pass, wherever the round is", async () => {
  await pass();
  await pass();
  await attempts("job_run", 9);
  await pass();
  expect(found()).toEqual(["job_run"]);
  await attempts("job_run", 2);
  await pass();
  expect(found()).toEqual([]);
});

test("a check that fails in one pass leaves the round incomplete, and the next round is complete again", async () => {
  await pass();
  await owner.query("alter table job_step rename column epoch to epoch_then");
  const failed: string[] = [];
  const broken = await runPass(owner, {
    ...{ progress, open, lastPassAt, intervalSeconds: 600, timeoutSeconds: 60 },
    onFailure: ({ check }) => failed.push(check),
  });
  await owner.query("alter table job_step rename column epoch_then to epoch");
  expect(failed).toContain("no step was accepted from a former holder");
  progress = broken.progress;
  await passesOfARound();
  expect(progress.job?.complete_since).toBeNull();
  await passesOfARound();
  expect(progress.job?.complete_since).not.toBeNull();
});

test("a pass reads a slice of the jobs and their audit rows, and not the tables", async () => {
  await pass();
  const before = await rowsRead();
  await pass();
  const after = await rowsRead();
  for (const table of ["job", "audit"] as const) {
    expect(after[table].scans - before[table].scans).toBe(0);
    // Each of the checks of the jobs reads the slice once.
    expect(after[table].rows - before[table].rows).toBeLessThan(12 * keys.job.rows);
  }
});

/** Sequential scans of a table, and the rows that were fetched by its indexes. */
async function rowsRead() {
  await owner.query("select pg_stat_force_next_flush()");
  const { rows } = await owner.query<{ name: string; scans: number; rows: number }>(
    `select relname as name, seq_scan::integer as scans, idx_tup_fetch::integer as rows from pg_stat_user_tables
      where relname in ('job', 'audit')`,
  );
  const of = (name: string) => {
    const row = rows.find((each) => each.name === name);
    if (row === undefined) throw new Error(`there are no counts of ${name}`);
    return row;
  };
  return { job: of("job"), audit: of("audit") };
}
