import { existsSync } from "node:fs";
import { join } from "node:path";
import { createJob } from "@kule/programs/testing/lab-region";
import { loadRegionFile } from "@kule/region-config/load-region-file";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { Unanswered } from "./control-plane.ts";
import { dryRun } from "./dry-run.ts";
import { WrongRegion } from "./own-region.ts";
import { agentSettings } from "./settings.ts";
import { type LabSite, startLabSite } from "./testing/agent-process.ts";
import { stopPayload } from "./testing/counting-program.ts";
import { FakeControlPlane } from "./testing/fake-control-plane.ts";

let fake: FakeControlPlane;
let site: LabSite;
beforeAll(async () => {
  fake = await FakeControlPlane.start();
  site = await startLabSite(fake);
});
afterEach(() => {
  fake.jobs.clear();
  Object.assign(fake, { region: "lab1", failWith: null });
});
afterAll(async () => {
  await site.stop();
  await fake.stop();
});

async function plan(): Promise<{ lines: string[]; jobs: number }> {
  const file = loadRegionFile(site.path, site.environment);
  const lines: string[] = [];
  const { signal } = new AbortController();
  const settings = agentSettings(file, site.environment);
  return { jobs: await dryRun(file, settings, {}, (line) => void lines.push(line), signal), lines };
}

test("a dry run names the next steps of each job, changes nothing in the region and hands the jobs back", async () => {
  const { id, payload } = createJob(20_001);
  const create = fake.offer(id, payload);
  const stop = fake.offer("job_stop", stopPayload());
  const journal = site.lab.journal().length;
  const changing = ["POST", "PUT", "DELETE"].map((method) =>
    site.lab.faults.add({ method, action: "delay", milliseconds: 0, count: 0 }),
  );

  const { lines, jobs } = await plan();

  expect(jobs).toBe(2);
  expect(lines[0]).toMatch(new RegExp(`^${id} {2}ServerCreate: pool, clone`));
  expect(lines[1]).toMatch(/^job_stop {2}ServerStop: \S/);
  for (const job of [create, stop]) {
    expect(job.outcome).toEqual({ status: "released" });
    expect(job.reports.flatMap(({ step, earlier_steps = [] }) => [step, ...earlier_steps])).toEqual([
      undefined,
    ]);
  }
  expect(site.lab.journal().length).toBe(journal);
  const hits = site.lab.faults.list().filter((fault) => changing.includes(fault.id));
  expect(hits.map((fault) => fault.hits)).toEqual([0, 0, 0]);
  site.lab.faults.clear();
  // Not even the agent's own key.
  expect(existsSync(join(site.directory, ".kule-agent"))).toBe(false);
});

test("without a job that waits there is nothing to print", async () => {
  expect(await plan()).toEqual({ jobs: 0, lines: [] });
});

test("a job that this version does not understand is named, and handed back", async () => {
  const odd = fake.offer("job_odd", { kind: "ServerCreate" });
  const { lines } = await plan();
  expect(lines).toEqual([expect.stringMatching(/^job_odd {2}ServerCreate: not understood: \S/)]);
  expect(odd.outcome).toEqual({ status: "released" });
});

test("a dry run claims nothing with a token of another region, nor from a control plane that is away", async () => {
  const { id, payload } = createJob(20_002);
  const job = fake.offer(id, payload);
  fake.region = "ist1";
  await expect(plan()).rejects.toThrow(WrongRegion);
  fake.region = "lab1";
  fake.failWith = 503;
  await expect(plan()).rejects.toThrow(Unanswered);
  expect(job.holder).toBeNull();
});
