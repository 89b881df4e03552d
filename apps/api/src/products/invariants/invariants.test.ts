import { databaseChecks } from "@kule/invariants/database-checks";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDatabase } from "../../platform/database.ts";
import type { Logger } from "../../platform/log.ts";
import { createMetrics } from "../../platform/metrics.ts";
import { ServerWorld } from "../../testing/server-world.ts";
import { checkInvariants } from "../../worker/check-invariants.ts";
import { runWorker } from "../../worker/run.ts";
import { registerInvariantMetrics } from "./metrics.ts";

let world: ServerWorld;
/** Logged errors, as message and the subject they are about. */
const logged: string[] = [];
const log = {
  ...console,
  error: (about: { subject?: string; check?: string }, message: string) =>
    logged.push(`${message}: ${about.subject ?? about.check}`),
} as unknown as Logger;

beforeAll(async () => {
  world = await ServerWorld.open();
});
afterAll(() => world.close());

const operator = () => world.world.operator;
const report = async () => {
  const answer = await operator().get("/operator/invariants");
  expect(answer.status).toBe(200);
  return answer.body;
};
const found = ({ violations }: { violations: { invariant: string; subject: string }[] }) =>
  violations.map(({ invariant, subject }) => `${invariant} ${subject}`);

/** One scan of the worker, with the owner's connection as graphile-worker gives it to the task. */
async function look(): Promise<void> {
  const owner = new pg.Client({ connectionString: world.world.database.ownerUrl });
  await owner.connect();
  try {
    await checkInvariants({ ...world.world.replica.deps, log }, owner);
  } finally {
    await owner.end();
  }
}

async function metrics(): Promise<string> {
  const own = createMetrics(() => ({ total: 0, idle: 0, waiting: 0 }));
  registerInvariantMetrics({ ...world.world.replica.deps, metrics: own });
  return own.registry.metrics();
}

describe("before the worker's first scan", () => {
  test("the report says so, and does not claim that all is well", async () => {
    expect(await report()).toMatchObject({ checked_at: null, stale: true, checked: [], violations: [] });
    expect(await metrics()).toMatch(/^kule_invariants_checked_timestamp_seconds 0$/m);
    expect(await metrics()).not.toMatch(/^kule_invariant_violations\{/m);
  });

  test("a fresh report is refused after a wait, and not invented", async () => {
    const answer = await world.world.app.request("/api/v1/operator/invariants?fresh=true", {
      headers: { Authorization: `Bearer ${operator().token}` },
      // In place of the 30 seconds.
      signal: AbortSignal.timeout(300),
    });
    expect(answer.status).toBe(503);
    expect(answer.headers.get("Retry-After")).toBe("30");
  });
});

describe("a world with servers", () => {
  test("has its invariants checked by the worker on request, and none is violated", async () => {
    await world.createRunning();
    await world.create();
    const running = await runWorker({
      deps: world.world.replica.deps,
      workerUrl: world.world.database.workerUrl,
    });
    try {
      const askedAt = Date.now();
      const answer = await operator().get("/operator/invariants?fresh=true");
      expect(answer.status).toBe(200);
      expect(found(answer.body)).toEqual([]);
      expect(answer.body).toMatchObject({ stale: false, interval_seconds: 600, violations_total: 0 });
      expect(Date.parse(answer.body.checked_at)).toBeGreaterThan(askedAt - 1000);
      expect(answer.body.checked.map(({ check }: { check: string }) => check)).toEqual(
        databaseChecks.map(({ check }) => check),
      );
    } finally {
      await running.stop();
    }
  });

  test("names what is not checked", async () => {
    const { not_checked } = await report();
    const names = not_checked.map(({ invariant }: { invariant: string }) => invariant);
    expect(names).toEqual(["I8", "I14"]);
  });

  test("a broken promise is reported with its first sighting, and logged when it appears and when it disappears", async () => {
    await world.owner.query("update region_vmid set server_id = 'srv_x' where vmid = 20990");
    await look();
    const first = await report();
    expect(found(first)).toEqual(["I4 VMID ist1/20990 is free and of srv_x"]);
    expect(first.violations[0].since).toBe(first.checked_at);
    expect(logged.splice(0)).toEqual(["an invariant is violated: VMID ist1/20990 is free and of srv_x"]);
    expect(await metrics()).toMatch(/^kule_invariant_violations\{invariant="I4"\} 1$/m);
    expect(await metrics()).toMatch(/^kule_invariant_violations\{invariant="I5"\} 0$/m);

    await look();
    const second = await report();
    expect(second.checked_at > first.checked_at).toBe(true);
    expect(second.violations).toEqual(first.violations);
    expect(logged).toEqual([]);

    await world.owner.query("update region_vmid set server_id = null where vmid = 20990");
    await look();
    expect(found(await report())).toEqual([]);
    expect(logged.splice(0)).toEqual(["an invariant holds again: VMID ist1/20990 is free and of srv_x"]);
    expect(await metrics()).toMatch(/^kule_invariant_violations\{invariant="I4"\} 0$/m);
  });

  test("counts all violations of a check and names the first hundred", async () => {
    await world.owner.query("update region_vmid set server_id = 'srv_x' where vmid between 20800 and 20949");
    await look();
    const { violations, violations_total } = await report();
    expect(violations_total).toBe(150);
    expect(violations).toHaveLength(100);
    await world.owner.query("update region_vmid set server_id = null where vmid between 20800 and 20949");
    await look();
    logged.length = 0;
  });

  test("reports which check could not be carried out, and keeps what it found before", async () => {
    await world.owner.query("update region_vmid set server_id = 'srv_x' where vmid = 20990");
    await look();
    logged.length = 0;
    // This check reads the column, and no other check does.
    await world.owner.query("alter table region_vmid rename column free_after to free_later");
    await look();
    const broken = await report();
    const check = "a free VM number has no server, and a quarantined one is released";
    expect(broken.not_checked).toContainEqual({
      invariant: "I4",
      reason: `${check}: could not be carried out (42703)`,
    });
    expect(found(broken)).toEqual(["I4 VMID ist1/20990 is free and of srv_x"]);
    expect(broken.violations_total).toBe(1);
    expect(logged).toEqual([`a check of the invariants failed: ${check}`]);
    expect(await metrics()).toMatch(/^kule_invariant_checks_failed 1$/m);
    await world.owner.query(
      "alter table region_vmid rename column free_later to free_after; update region_vmid set server_id = null where vmid = 20990",
    );
    await look();
    expect(found(await report())).toEqual([]);
  });

  test("has a report that becomes stale when no worker runs", async () => {
    await world.owner.query("update invariant_report set checked_at = now() - interval '19 minutes'");
    expect(await report()).toMatchObject({ stale: false, age_seconds: 1140 });
    await world.owner.query("update invariant_report set checked_at = now() - interval '21 minutes'");
    expect(await report()).toMatchObject({ stale: true, age_seconds: 1260 });
  });

  test("keeps the later of two concurrent scans", async () => {
    await world.owner.query(
      "update invariant_report set checked_at = now() + interval '1 minute', duration_ms = 77",
    );
    await look();
    expect(await report()).toMatchObject({ duration_ms: 77 });
    await world.owner.query("update invariant_report set checked_at = now() - interval '1 minute'");
    await look();
    expect((await report()).age_seconds).toBeLessThan(30);
  });
});

describe("the report", () => {
  test("can be read by the API's role and written by the owner only", async () => {
    const { db } = world.world.replica.deps;
    await expect(db.updateTable("invariant_report").set({ violations: "[]" }).execute()).rejects.toThrow(
      /permission denied/,
    );
    await expect(db.deleteFrom("invariant_report").execute()).rejects.toThrow(/permission denied/);
  });

  test("do not keep the other metrics from a scrape while the database is unreachable", async () => {
    const away = openDatabase({ url: "postgres://nobody@127.0.0.1:1/none", poolSize: 2, guardTenants: true });
    const own = createMetrics(() => ({ total: 0, idle: 0, waiting: 0 }));
    registerInvariantMetrics({ ...world.world.replica.deps, db: away.db, metrics: own });
    expect(await own.registry.metrics()).toMatch(/^kule_invariants_checked_timestamp_seconds 0$/m);
    await away.close();
  });
});
