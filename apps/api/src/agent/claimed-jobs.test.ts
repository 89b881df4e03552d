import { expect, test } from "vitest";
import { ServerWorld } from "../testing/server-world.ts";
import { TestAgent } from "../testing/test-agent.ts";
import { wireCostsOf } from "../testing/wire-costs.ts";
import { ClaimedJobs } from "./claimed-jobs.ts";

const jobOf = (id: string, region = "here") => ({
  id,
  organisation_id: "org_1",
  region,
  resource_type: "server",
  resource_id: `srv_of_${id}`,
});

test("a job is found by its own region only", () => {
  const jobs = new ClaimedJobs();
  jobs.remember(jobOf("job_1", "here"));
  expect(jobs.find("job_1", "here")).toEqual(jobOf("job_1", "here"));
  expect(jobs.find("job_1", "elsewhere")).toBeNull();
  expect(jobs.find("job_2", "here")).toBeNull();
});

test("no more jobs than the limit are known, and the oldest is forgotten first", () => {
  const jobs = new ClaimedJobs(2);
  for (const id of ["job_1", "job_2", "job_1", "job_3"]) jobs.remember(jobOf(id));
  expect(["job_1", "job_2", "job_3"].map((id) => jobs.find(id, "here") !== null)).toEqual([
    true,
    false,
    true,
  ]);
});

test("nothing that a report may change is kept", () => {
  const jobs = new ClaimedJobs();
  const row = { ...jobOf("job_1"), status: "running", epoch: 1 };
  jobs.remember(row);
  expect(jobs.find("job_1", "here")).toEqual(jobOf("job_1"));
});

test("a report of a job that another process has assigned costs one more query, once", async () => {
  const world = await ServerWorld.open();
  try {
    const replica = await world.world.addReplica();
    const other = new TestAgent(world.agent.api.at(replica.app));
    // Its token is known there, and every statement is prepared.
    await world.create();
    await other.report(await other.take("ServerCreate"), { phase: "apply" });
    await world.create();
    const job = await world.agent.take("ServerCreate");
    const costs = [];
    for (let seq = 1; seq <= 2; seq += 1)
      costs.push(await wireCostsOf(() => other.reportAs(job, seq, { phase: "apply" })));
    expect(costs.map(({ roundTrips }) => roundTrips)).toEqual([2, 1]);
  } finally {
    await world.close();
  }
});

test("a step without a phase is one of the phase that the job is in", async () => {
  const world = await ServerWorld.open();
  try {
    const { job } = await world.create();
    const claimed = await world.agent.take("ServerCreate");
    await world.agent.report(claimed, { phase: "apply" });
    await world.agent.report(claimed, { step: { name: "clone", status: "running" } });
    await world.agent.report(claimed, {});
    const shown = await world.owned.get(`/jobs/${job.id}`);
    expect(shown.body).toMatchObject({ phase: "apply", steps: [{ name: "clone", phase: "apply" }] });
    expect(shown.body.progress).toBe(20);
  } finally {
    await world.close();
  }
});

test("a job that the database has lost, as after a restored backup, is answered with 404", async () => {
  const world = await ServerWorld.open();
  try {
    await world.create();
    const job = await world.agent.take("ServerCreate");
    await world.rows(
      "set session_replication_role = replica; delete from job; reset session_replication_role",
    );
    expect((await world.agent.report(job, { phase: "apply" })).status).toBe(404);
    expect((await world.agent.report(job, { phase: "apply" })).status).toBe(404);
  } finally {
    await world.close();
  }
});
