import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { untilReady } from "../child-process.ts";
import { type RegionWorld, startRegionWorld } from "../region-world.ts";
import { batches, type CrashCase, tracedCases } from "./crash-points.ts";

const BATCH = 8;
/** What the control plane answers to a report under an epoch that is over, as the agent's log shows it. */
const REFUSAL = "not held under this epoch";
/** An agent's last word on a job that it has lost. */
const GIVEN_UP = "the job is not ours any more";
/** Time to try something even so. */
const AFTER_REFUSAL_MS = 1_000;

/**
 * An agent is stopped (SIGSTOP) at every step of ServerCreate and sleeps through its lease; another agent finishes
 * the job; then the first one is continued, in the middle of what it believes to be its job.
 */
describe("an agent that sleeps through its lease and comes back", () => {
  let world: RegionWorld;
  let db: pg.Client;
  let cases: CrashCase[] = [];
  let made = 0;

  beforeAll(async () => {
    // Long enough that all agents reach their places before the first lease passes and another could take its job over.
    world = await startRegionWorld({ leaseSeconds: 10 });
    db = new pg.Client({ connectionString: world.database.ownerUrl });
    await db.connect();
    const trace = path.join(mkdtempSync(path.join(tmpdir(), "kule-trace-")), "trace");
    const agent = world.startAgent({ BATTERY_TRACE: trace });
    const { job } = await world.createServer(nextName());
    await world.untilDone(job.id);
    await agent.end();
    cases = tracedCases(trace, "ServerCreate");
  });

  function nextName(): string {
    made += 1;
    return `server-${made}`;
  }

  afterAll(async () => {
    await db?.end();
    await world?.end();
  });

  it("gets none of its writes accepted and makes no second VM", { timeout: 240_000 }, async () => {
    expect(cases.length).toBeGreaterThanOrEqual(20);
    let servers = 1;
    let refused = 0;
    for (const batch of batches(cases, BATCH)) {
      const zombies = batch.map(({ name, time }) =>
        world.startAgent({ BATTERY_STOP: `${name}@${time}`, KULE_AGENT_CONCURRENCY: "1" }),
      );
      const created = await Promise.all(
        batch.map(async () => {
          const client = await world.newOrganisation(nextName());
          return { client, ...(await world.createServer(nextName(), client)) };
        }),
      );
      servers += created.length;
      for (const zombie of zombies)
        await untilReady(zombie, async () => (isStopped(zombie.pid) ? true : undefined));

      const successor = world.startAgent({ KULE_AGENT_CONCURRENCY: "8" });
      for (const { job, client } of created)
        expect((await world.untilDone(job.id, client)).status).toBe("succeeded");
      await successor.end();

      const before = await snapshot();
      for (const zombie of zombies) zombie.signal("SIGCONT");
      for (const zombie of zombies)
        await untilReady(zombie, async () => (zombie.output().includes(GIVEN_UP) ? true : undefined), 20_000);
      await delay(AFTER_REFUSAL_MS);
      expect(await snapshot(), "what the returned agents changed").toEqual(before);
      refused += zombies.filter((zombie) => zombie.output().includes(REFUSAL)).length;
      for (const zombie of zombies) await zombie.end();
    }
    // Some find their old connection closed and give up by themselves. The others have to be turned away by the
    // control plane: if nobody is, this test says nothing about its fence.
    console.log(`turned away by the control plane: ${refused} of ${cases.length}`);
    expect(refused).toBeGreaterThanOrEqual(cases.length / 10);
    for (const [vmid, clones] of world.effects().clones) expect(clones, `clones of VM ${vmid}`).toBe(1);
    expect((await world.vms()).length).toBe(servers);
  });

  /** Everything a write could have changed: records, jobs, steps, usage, and the VMs themselves. */
  async function snapshot(): Promise<unknown> {
    const { rows: jobs } = await db.query("select id, status, epoch, version, last_seq from job order by id");
    const { rows: steps } = await db.query(
      "select job_id, epoch, seq, status from job_step order by 1, 2, 3",
    );
    const { rows: servers } = await db.query(
      "select id, status, generation, updated_at from server order by id",
    );
    const { rows: usage } = await db.query("select id from usage_event order by id");
    return { jobs, steps, servers, usage, vms: await world.vms() };
  }
});

function isStopped(pid: number): boolean {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) === "T";
}
