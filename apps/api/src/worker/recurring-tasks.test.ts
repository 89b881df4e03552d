import { freshDatabase } from "@kule/testing/database";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { addDueTasks } from "./recurring-tasks.ts";

const tasks = [
  { name: "reap_leases", everyMinutes: 1, maxAttempts: 25 },
  { name: "clean_up", everyMinutes: 10, maxAttempts: 1 },
];
let database: Awaited<ReturnType<typeof freshDatabase>>;
let owner: pg.Pool;
beforeAll(async () => {
  database = await freshDatabase();
  owner = new pg.Pool({ connectionString: database.ownerUrl, max: 4 });
  owner.on("error", () => {});
});
beforeEach(async () => {
  await owner.query(
    "truncate graphile_worker._private_known_crontabs; delete from graphile_worker._private_jobs",
  );
});
afterAll(async () => {
  await owner.end();
  await database.drop();
});

const turnsPass = (by: string) =>
  owner.query(
    `update graphile_worker._private_known_crontabs set last_execution = last_execution - interval '${by}'`,
  );

test("many concurrent workers add each task once in its interval", async () => {
  const added = await Promise.all(Array.from({ length: 8 }, () => addDueTasks(owner, tasks)));
  // An interval may end between two checks.
  expect(added.flat().filter((name) => name === "clean_up").length).toBeLessThanOrEqual(2);
  expect(new Set(added.flat())).toEqual(new Set(["reap_leases", "clean_up"]));
  const { rows } = await owner.query(
    "select key, max_attempts, run_at <= clock_timestamp() as due from graphile_worker._private_jobs order by key",
  );
  expect(rows).toEqual([
    { key: "clean_up", max_attempts: 1, due: true },
    { key: "reap_leases", max_attempts: 25, due: true },
  ]);
});

test("the next interval adds the task again", async () => {
  await addDueTasks(owner, tasks);
  await turnsPass("1 minute");
  expect(await addDueTasks(owner, tasks)).toContain("reap_leases");
});

test("a worker's wall clock decides nothing", async () => {
  const real = Date.now;
  vi.spyOn(Date, "now").mockImplementation(() => real() + 2 * 3_600_000);
  await addDueTasks(owner, tasks);
  vi.restoreAllMocks();
  const { rows } = await owner.query(
    `select count(*)::integer as count from graphile_worker._private_jobs j, graphile_worker._private_known_crontabs k
      where j.run_at > clock_timestamp() or k.last_execution > clock_timestamp()`,
  );
  expect(rows).toEqual([{ count: 0 }]);
});

test("runs that were recorded two hours in the future delay nothing", async () => {
  await addDueTasks(owner, tasks);
  await turnsPass("-2 hours");
  expect([...(await addDueTasks(owner, tasks))].sort()).toEqual(["clean_up", "reap_leases"]);
});
