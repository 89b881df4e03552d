import { agentRuntime } from "@kule/agent/runtime";
import type { PayloadOf, Schemas } from "@kule/contract/schemas";
import type { AnyWorld, Job, Program } from "@kule/programs/program";
import { runProgram } from "@kule/programs/run-program";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { nextJob } from "../agent/claim-job.ts";
import { ClaimedJobs } from "../agent/claimed-jobs.ts";
import { newId } from "../platform/ids.ts";
import type { JobEnd, JobHandlers } from "../platform/job-handler.ts";
import { type JobRow, queueJob } from "../platform/jobs.ts";
import { inTransaction } from "../platform/transaction.ts";
import { ApiWorld, type Replica, type TestOrganisation } from "../testing/api-world.ts";
import { TestAgent } from "../testing/test-agent.ts";
import { expireLeases } from "./expire-leases.ts";
import { ownCalls } from "./own-calls.ts";
import { type OwnWork, workOwnJobs } from "./own-jobs.ts";

const leaseSeconds = 2;
let world: ApiWorld;
let organisation: TestOrganisation;
let agent: TestAgent;
/** As the owner of the tables: for reading, and for moving time. */
let owner: pg.Pool;
beforeAll(async () => {
  world = await ApiWorld.open({ leaseSeconds });
  owner = new pg.Pool({ connectionString: world.database.ownerUrl, max: 2 });
  owner.on("error", () => {});
  organisation = await world.addOrganisation("acme");
  agent = new TestAgent((await world.addRegion("ist1")).agent);
});
afterAll(async () => {
  await owner.end();
  await world.close();
});

/** The end of each job by its id, and whose job it was. */
const settled = new Map<string, JobEnd>();
const payload: PayloadOf<"DomainApply"> = {
  kind: "DomainApply",
  generation: 5,
  state: "present",
  zone: {
    name: "example.net",
    name_servers: ["ns1.kule.test."],
    name_server_ttl: 3600,
    dnssec: false,
    record_sets: [{ name: "www", type: "A", ttl: 300, values: ["192.0.2.1"] }],
  },
};
/** A product reduced to what the queue calls. */
const handlers: JobHandlers = {
  domain: {
    kinds: ["DomainApply"],
    lockResource: async () => {},
    renderPayload: async () => payload,
    settle: async (_tx, job, end) => {
      settled.set(job.id, end);
    },
    preempt: async () => {},
    retried: async () => {},
    replaceVmid: async () => false,
  },
};

/** Work with one effect, whose jobs are written down in the order of the effects. */
function countingWork(working: (job: string) => Promise<void> = async () => {}) {
  const effects: string[] = [];
  const program: Program<"DomainApply", boolean, { readonly do: "change-records" }, AnyWorld> = {
    kind: "DomainApply",
    observe: async ({ id }) => effects.includes(id),
    plan: (_, isDone) => (isDone ? [] : [{ do: "change-records" }]),
    apply: {
      "change-records": async (_, { id }, __, effect) => {
        await effect.beforeCall();
        effects.push(id);
        await working(id);
        await effect.answered();
      },
    },
    observed: (job) => ({
      power_state: "unknown",
      domain: { generation: job.payload.generation, serial: 7, ds: ["1 13 2 ab"] },
    }),
  };
  const work: OwnWork = {
    kinds: ["DomainApply"],
    run: (job, host) =>
      runProgram(program, job as Job<PayloadOf<"DomainApply">>, { runtime: agentRuntime }, host),
  };
  return { effects, work };
}

const queue = (more: { readonly region?: string; readonly resourceId?: string } = {}): Promise<JobRow> =>
  inTransaction(world.replica.deps.db, (tx) =>
    queueJob(tx, {
      kind: "DomainApply",
      organisationId: organisation.id,
      region: more.region ?? null,
      resourceType: "domain",
      resourceId: more.resourceId ?? newId("job").replace("job", "dom"),
      requestedBy: { type: "system", id: null, name: null },
      requestId: "req_test",
    }),
  );

let running: { stop: AbortController; ended: Promise<void> }[] = [];
/** A worker of that process. */
function work(own: OwnWork, replica: Replica = world.replica): void {
  const stop = new AbortController();
  running.push({ stop, ended: workOwnJobs(replica.deps, handlers, own, stop.signal) });
}
async function stopWorkers(): Promise<void> {
  for (const { stop } of running) stop.abort();
  await Promise.all(running.map(({ ended }) => ended));
  running = [];
}
afterEach(stopWorkers);

const read = async (id: string): Promise<Schemas["Job"]> =>
  (await organisation.owner.get(`/jobs/${id}`)).body;
/** Its status in the database: a job is not to be polled so often. */
const statusOf = async (id: string): Promise<string> =>
  (await owner.query("select status from job where id = $1", [id])).rows[0].status;
const ended = async (id: string) => {
  await expect.poll(() => statusOf(id), { timeout: 20_000 }).not.toMatch(/queued|running/);
  return read(id);
};
const ownClaim = (claimId: string) => ({
  claim_id: claimId,
  agent_version: "1.0.0",
  capabilities: ["DomainApply"],
  wait_seconds: 0,
});

describe("a job without a region", () => {
  test("is done by the worker, with its steps, and settled with what was observed", async () => {
    const { effects, work: own } = countingWork();
    work(own);
    const { id } = await queue();
    const job = await ended(id);
    expect(effects).toEqual([id]);
    expect(job).toMatchObject({ status: "succeeded", region: null, progress: 100, attempt: 1 });
    expect(job.steps.map(({ name }) => name)).toEqual(["observe", "plan", "change-records", "verify"]);
    expect(settled.get(id)).toMatchObject({
      status: "succeeded",
      domain: { generation: 5, serial: 7, ds: ["1 13 2 ab"] },
    });
  });

  test("ends in the audit trail as the system's, and its queue entry is gone", async () => {
    work(countingWork().work);
    const { id } = await queue();
    await ended(id);
    const { items } = (await organisation.owner.get(`/audit?resource=${id}`)).body;
    expect(items).toMatchObject([{ action: "job.end", actor: { type: "system", id: null } }]);
    expect(await entries(id)).toEqual([]);
  });

  test("is shown to operators, with the worker as its holder, and found under no region", async () => {
    const { id } = await queue();
    const listed = async (path: string) =>
      (await world.operator.get(path)).body.items.find((each: { id: string }) => each.id === id);
    expect(await listed("/operator/jobs")).toMatchObject({ region: null, agent_name: null });
    expect(await listed("/operator/jobs?region=ist1")).toBeUndefined();
    expect(await entries(id)).toEqual([{ identifier: "control-plane" }]);
    await owner.query("update job set run_at = now() - interval '1 hour' where id = $1", [id]);
    expect(await listed("/operator/stuck-jobs")).toMatchObject({ region: null, reason: "not_claimed" });
    expect(await listed("/operator/stuck-jobs?region=ist1")).toBeUndefined();
    const held = Promise.withResolvers<void>();
    work(countingWork(() => held.promise).work);
    await expect.poll(async () => (await listed("/operator/jobs")).agent_name).toBe("worker");
    held.resolve();
    await ended(id);
  });

  test("is never given to an agent, whatever it says that it can do, nor reported by one", async () => {
    const { id } = await queue();
    const ofRegion = await queue({ region: "ist1" });
    expect((await agent.claimRaw({ capabilities: ["DomainApply"] })).status).toBe(204);
    const { deps } = world.replica;
    const asked = (region: string | null) =>
      nextJob({
        deps,
        handlers,
        claimed: new ClaimedJobs(),
        claimant: { region, tokenId: null, name: "agent" },
        body: ownClaim("claim-of-an-agent"),
        disconnected: new AbortController().signal,
      });
    expect(await asked("ist1")).toBeNull();
    const held = await asked(null);
    expect(held?.id).toBe(id);
    expect((await agent.report({ id, epoch: held?.epoch ?? 0 }, { phase: "observe" })).status).toBe(404);
    const refused = await ownCalls(deps, handlers).report(
      ofRegion.id,
      { epoch: 0, seq: 1 },
      new AbortController().signal,
    );
    expect(refused.response.status).toBe(404);
    await owner.query("update job set lease_until = now() where id = $1", [id]);
    work(countingWork().work);
    await ended(id);
  });

  test("of a worker that died is taken over once its lease is over, and is done once", async () => {
    const calls = ownCalls(world.replica.deps, handlers);
    const { id } = await queue();
    const dead = await calls.claim(ownClaim("claim-of-the-dead"), new AbortController().signal);
    expect(dead.data?.job.id).toBe(id);
    const { effects, work: own } = countingWork();
    work(own);
    expect(await ended(id)).toMatchObject({ status: "succeeded", attempt: 2 });
    expect(effects).toEqual([id]);
    // The dead worker's report comes too late, and is refused as an agent's is.
    const late = await calls.report(
      id,
      { epoch: 1, seq: 1, outcome: { status: "failed", error: { code: "internal", message: "late" } } },
      new AbortController().signal,
    );
    expect(late.response.status).toBe(409);
    expect(await read(id)).toMatchObject({ status: "succeeded" });
  });

  test("is released by a worker that stops, for the next one", async () => {
    const begun = Promise.withResolvers<void>();
    const first = countingWork(async () => {
      begun.resolve();
      await new Promise(() => {});
    });
    work({ ...first.work, run: (job, host) => breakable(first.work.run(job, host), host.signal) });
    const { id } = await queue();
    await begun.promise;
    await stopWorkers();
    expect(await read(id)).toMatchObject({ status: "queued", attempt: 0 });
    work(countingWork().work);
    expect(await ended(id)).toMatchObject({ status: "succeeded", attempt: 1 });
  });

  test("whose worker stays silent says so, in words that are not a region's", async () => {
    const { id } = await queue();
    await ownCalls(world.replica.deps, handlers).claim(
      ownClaim("claim-silent"),
      new AbortController().signal,
    );
    await owner.query("update job set lease_until = now() where id = $1", [id]);
    expect(await expireLeases(world.replica.deps, handlers)).toBe(1);
    expect(await read(id)).toMatchObject({
      status: "queued",
      error: { code: "worker_lost", message: "The control plane's worker did not report in time." },
    });
    await owner.query("update job set run_at = now() where id = $1", [id]);
    work(countingWork().work);
    await ended(id);
  });
});

test("two workers share the jobs, and none is done twice", { timeout: 60_000 }, async () => {
  const { effects, work: own } = countingWork();
  work(own);
  work(own, await world.addReplica({ leaseSeconds }));
  const jobs = await Promise.all(Array.from({ length: 25 }, () => queue()));
  for (const { id } of jobs) expect(await ended(id)).toMatchObject({ status: "succeeded", attempt: 1 });
  expect(effects.toSorted()).toEqual(jobs.map(({ id }) => id).toSorted());
});

test("jobs of one resource run one after the other, also when two workers are free", async () => {
  let atOnce = 0;
  let most = 0;
  const counted = async () => {
    atOnce += 1;
    most = Math.max(most, atOnce);
    await agentRuntime.pause(100);
    atOnce -= 1;
  };
  const first = await queue({ resourceId: "dom_1" });
  const { work: own } = countingWork(counted);
  work(own);
  work(own, await world.addReplica({ leaseSeconds }));
  await expect.poll(() => statusOf(first.id)).not.toBe("queued");
  const second = await queue({ resourceId: "dom_1" });
  await ended(first.id);
  await ended(second.id);
  expect(most).toBe(1);
});

async function entries(key: string): Promise<{ identifier: string }[]> {
  const { rows } = await owner.query(
    `select t.identifier from graphile_worker._private_jobs q join graphile_worker._private_tasks t on t.id = q.task_id
      where q.key = $1`,
    [key],
  );
  return rows;
}

/** What runs ends with the signal, as a provider's call does. */
function breakable<Value>(run: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal?.addEventListener("abort", () => reject(signal.reason));
  return Promise.race([run, promise]);
}
