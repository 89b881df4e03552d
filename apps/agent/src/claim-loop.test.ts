import { Failed, RetryLater, StaleLease } from "@kule/programs/errors";
import type { Host, Job, Observed } from "@kule/programs/program";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { httpCalls } from "./api-calls.ts";
import { ClaimLoop } from "./claim-loop.ts";
import { ControlPlane } from "./control-plane.ts";
import { agentRuntime } from "./runtime.ts";
import { countingRegion, stopPayload } from "./testing/counting-program.ts";
import { FakeControlPlane, type FakeJob, TEST_TOKEN } from "./testing/fake-control-plane.ts";
import { memoryLog } from "./testing/memory-log.ts";

type Run = (job: Job, host: Host) => Promise<Observed>;

let fake: FakeControlPlane;
let endings: (() => Promise<void>)[] = [];

beforeEach(async () => {
  fake = await FakeControlPlane.start();
});
afterEach(async () => {
  for (const end of endings) await end();
  endings = [];
  await fake.stop();
});

/** An agent's claim loop against the fake, running until it is stopped or the test ends. */
function startLoop(run: Run, options: { concurrency?: number; token?: string } = {}) {
  const memory = memoryLog();
  const controlPlane = new ControlPlane({
    calls: httpCalls(fake.url, options.token ?? TEST_TOKEN),
    runtime: agentRuntime,
    crashPoint: () => {},
  });
  const loop = new ClaimLoop({
    controlPlane,
    runtime: agentRuntime,
    log: memory.log,
    crashPoint: () => {},
    run,
    agentVersion: "0.1.0",
    agentName: "test",
    capabilities: ["ServerStop"],
    publicKey: Buffer.alloc(32, 9).toString("base64"),
    concurrency: options.concurrency ?? 4,
    refusedPauseMilliseconds: 200,
  });
  const stop = new AbortController();
  const running = loop.run(stop.signal);
  const releaseJobs = async (graceMilliseconds = 100) => {
    stop.abort();
    await loop.releaseJobs(graceMilliseconds);
    await running;
    await loop.releaseJobs(0);
  };
  endings.push(() => releaseJobs(0));
  return { loop, releaseJobs, lines: memory.lines, line: memory.line };
}

const stepsOf = (job: FakeJob) =>
  job.reports
    .flatMap(({ earlier_steps = [], step }) => [...earlier_steps, ...(step ? [step] : [])])
    .map(({ name, status }) => `${name} ${status}`);
const ended = (job: FakeJob) => () => job.outcome !== null;

describe("Claiming", () => {
  it("runs a job through its phases and reports what was observed", async () => {
    const region = countingRegion(["shut-down", "tag"]);
    const job = fake.offer("job_1", stopPayload());
    startLoop(region.run);
    await fake.until(ended(job));

    expect(job.outcome).toEqual({ status: "succeeded", observed: { power_state: "off", node: "pve1" } });
    expect(stepsOf(job)).toEqual([
      "observe running",
      "plan succeeded",
      "shut-down running",
      "shut-down succeeded",
      "tag running",
      "tag succeeded",
      "verify running",
      "verify succeeded",
    ]);
    // The end of a step is in the report of what begins next, and has a number of its own.
    expect(job.reports.map(({ epoch, seq }) => [epoch, seq])).toEqual([1, 3, 5, 7, 8].map((seq) => [1, seq]));
    const [claim] = fake.requestsTo("/claim");
    expect(claim?.body).toMatchObject({ capabilities: ["ServerStop"], wait_seconds: 20, agent_name: "test" });
  });

  it("repeats a claim with its id until a reply was read, so that a lost reply loses no job", async () => {
    let lost = 0;
    fake.loseReply = (path) => path.endsWith("/claim") && lost++ < 2;
    const region = countingRegion(["shut-down"]);
    const job = fake.offer("job_1", stopPayload());
    startLoop(region.run);
    await fake.until(ended(job));

    expect(job.epoch).toBe(1);
    expect(region.effects).toEqual(["shut-down"]);
    const ids = fake.requestsTo("/claim").map(({ body }) => body.claim_id);
    expect(ids[0]).toBe(ids[1]);
    expect(ids[0]).toBe(ids[2]);
    expect(ids[3]).not.toBe(ids[0]);
  });

  it("claims as many jobs as it may run at once, and the next one when a place is free", async () => {
    const open = Promise.withResolvers<void>();
    const jobs = [1, 2, 3].map((n) => fake.offer(`job_${n}`, stopPayload(`srv_${n}`)));
    startLoop((job, host) => countingRegion(["shut-down"], () => open.promise).run(job, host), {
      concurrency: 2,
    });
    await fake.until(() => jobs.filter((job) => stepsOf(job).includes("shut-down running")).length === 2);
    expect(jobs.filter((job) => job.holder !== null)).toHaveLength(2);
    open.resolve();
    await fake.until(() => jobs.every((job) => job.outcome?.status === "succeeded"));
  });

  it("claims others while a job waits for its guest, as many as without it", async () => {
    const guest = Promise.withResolvers<void>();
    const jobs = [1, 2, 3].map((n) => fake.offer(`job_${n}`, stopPayload(`srv_${n}`)));
    const [waiting, ...others] = jobs;
    if (waiting === undefined) throw new Error("no job");
    let most = 0;
    let busy = 0;
    startLoop(
      async (job, host) => {
        if (job.id === waiting.id) {
          host.idles?.(true);
          await guest.promise;
          host.idles?.(false);
        }
        busy += 1;
        most = Math.max(most, busy);
        const observed = await countingRegion(["shut-down"]).run(job, host);
        busy -= 1;
        return observed;
      },
      { concurrency: 1 },
    );
    await fake.until(() => others.every((job) => job.outcome?.status === "succeeded"));
    expect([waiting.outcome, most]).toEqual([null, 1]);
    guest.resolve();
    await fake.until(() => waiting.outcome?.status === "succeeded");
  });

  it("pauses with an alarm while its token is refused, then continues", async () => {
    const job = fake.offer("job_1", stopPayload());
    fake.failWith = 401;
    const { lines } = startLoop(countingRegion(["shut-down"]).run);
    await fake.until(() => fake.requestsTo("/claim").length >= 2);
    expect(job.holder).toBeNull();
    expect(lines.filter(({ alarm }) => alarm === true)[0]).toMatchObject({
      level: "error",
      msg: expect.stringMatching(/does not accept the agent's token: no jobs are taken/),
    });
    const [first, second] = fake.requestsTo("/claim");
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(180);

    fake.failWith = null;
    await fake.until(ended(job));
    expect(job.outcome?.status).toBe("succeeded");
  });

  it("polls at most once a second while the control plane is unreachable, with all its jobs together", async () => {
    const open = Promise.withResolvers<void>();
    const jobs = Array.from({ length: 12 }, (_, n) => fake.offer(`job_${n}`, stopPayload(`srv_${n}`)));
    startLoop((job, host) => countingRegion(["shut-down"], () => open.promise).run(job, host), {
      concurrency: 12,
    });
    await fake.until(() => jobs.every((job) => stepsOf(job).includes("shut-down running")));
    fake.failWith = 503;
    open.resolve();
    const refused = () => fake.requests.filter(({ status }) => status === 503);
    // One report of each job was in transit before the outage was known.
    await fake.until(() => refused().length >= 15);
    const [first, second, third] = refused()
      .slice(12)
      .map(({ at }) => at);
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThan(950);
    expect((third ?? 0) - (second ?? 0)).toBeGreaterThan(950);

    // The first answer lets all of them continue.
    fake.failWith = null;
    const backAt = performance.now();
    await fake.until(() => jobs.every((job) => job.outcome?.status === "succeeded"));
    expect(performance.now() - backAt).toBeLessThan(9_000);
  });
});

describe("Reports", () => {
  it("are repeated with their number when the reply is lost, and take effect once", async () => {
    const lost: unknown[] = [];
    fake.loseReply = (path, body) => {
      // One step, and the outcome: each the first time.
      const chosen = path.endsWith("/steps") && (body.seq === 3 || body.outcome !== undefined);
      if (!chosen || lost.includes(body.seq)) return false;
      lost.push(body.seq);
      return true;
    };
    const region = countingRegion(["shut-down"]);
    const job = fake.offer("job_1", stopPayload());
    startLoop(region.run);
    await fake.until(() => fake.requestsTo("/steps").length === 6);
    expect(region.effects).toEqual(["shut-down"]);
    expect(job.outcome?.status).toBe("succeeded");
    expect(fake.requestsTo("/steps").map(({ body }) => body.seq)).toEqual([1, 3, 3, 5, 6, 6]);
    expect(job.reports.map(({ seq }) => seq)).toEqual([1, 3, 5, 6]);
  });

  it("renew the lease while a step takes longer than it", async () => {
    fake.leaseSeconds = 0.9;
    const region = countingRegion(["shut-down", "tag"], ({ name }) =>
      name === "shut-down" ? agentRuntime.pause(2_000) : Promise.resolve(),
    );
    const job = fake.offer("job_1", stopPayload());
    startLoop(region.run);
    await fake.until(ended(job));
    expect(job.outcome?.status).toBe("succeeded");
    const renewals = job.reports.filter((report) => !report.step && !report.outcome);
    expect(renewals.length).toBeGreaterThanOrEqual(4);
  });

  it.each([
    {
      how: "trouble that passes",
      error: new RetryLater({ code: "hypervisor_unavailable", message: "later", internal: "595" }),
      outcome: {
        status: "retry",
        error: { code: "hypervisor_unavailable", message: "later", internal: "595", retryable: true },
      },
    },
    {
      how: "a VM id that is somebody else's",
      error: new Failed(
        { code: "vmid_taken", message: "in use", internal: "VM 20000 is foreign" },
        { vmidUnusable: "taken" },
      ),
      outcome: { status: "failed", error: { code: "vmid_taken" }, observed: { vmid_unusable: "taken" } },
    },
    {
      how: "text that nobody can store",
      error: new Failed({
        code: "template_missing",
        message: "m\0".repeat(4_000),
        internal: `${"i".repeat(19_999)}😀`,
      }),
      outcome: { status: "failed", error: { code: "template_missing", message: "m".repeat(4_000) } },
    },
  ])("end a job with their outcome: $how", async ({ error, outcome }) => {
    const job = fake.offer("job_1", stopPayload());
    startLoop(() => Promise.reject(error));
    await fake.until(ended(job));
    expect(job.outcome).toMatchObject(outcome);
    expect(fake.requests.filter(({ status }) => status === 422)).toEqual([]);
  });

  it("fail a job whose payload this agent does not understand, without running it", async () => {
    let ran = false;
    const job = fake.offer("job_1", { ...stopPayload(), vmid: "20000" } as unknown as { kind: string });
    startLoop(async () => {
      ran = true;
      return { power_state: "off" };
    });
    await fake.until(ended(job));
    expect(job.outcome).toMatchObject({
      status: "failed",
      error: { code: "payload_not_understood", internal: expect.stringMatching(/vmid must be integer/) },
    });
    expect(ran).toBe(false);
  });
});

describe("A lease", () => {
  it("that another agent holds ends the job at once: nothing more is begun or reported", async () => {
    const job = fake.offer("job_1", stopPayload());
    const region = countingRegion(["shut-down", "tag", "protect"], async ({ name }) => {
      if (name !== "shut-down") return;
      fake.takeAway(job);
      job.available = false;
    });
    const { line } = startLoop(region.run);
    await line("job dropped");
    expect(region.effects).toEqual(["shut-down"]);
    const refused = fake.requestsTo("/steps").filter(({ status }) => status === 409);
    expect(refused).toHaveLength(1);
    expect(job.outcome).toBeNull();
  });

  it("that another agent has claimed during a long step aborts the step", async () => {
    fake.leaseSeconds = 0.9;
    let brokenOff: unknown;
    const region = countingRegion(["shut-down", "tag"], ({ host }) => {
      const job = fake.jobs.get("job_1") as FakeJob;
      fake.takeAway(job);
      job.available = false;
      return new Promise((_, reject) => {
        host.signal?.addEventListener("abort", () => {
          brokenOff = host.signal?.reason;
          reject(host.signal?.reason);
        });
      });
    });
    fake.offer("job_1", stopPayload());
    const { line } = startLoop(region.run);
    await line("job dropped");
    expect(brokenOff).toBeInstanceOf(StaleLease);
    expect(region.effects).toEqual(["shut-down"]);
  });

  it("that cannot be renewed lets no effect begin in its last third, and ends the job at its end", async () => {
    fake.leaseSeconds = 1.5;
    let acknowledgedAt = 0;
    let lastEffectAt = 0;
    fake.onReport = () => {
      acknowledgedAt = performance.now();
    };
    const region = countingRegion(["shut-down", "tag"], async ({ again }) => {
      fake.loseReply = (path) => path.endsWith("/steps");
      fake.onReport = () => {};
      for (;;) {
        lastEffectAt = performance.now();
        await agentRuntime.pause(25);
        await again();
      }
    });
    const job = fake.offer("job_1", stopPayload());
    const { line } = startLoop(region.run);
    await line("job dropped");
    // It continued for as long as it was allowed, and no longer.
    expect(lastEffectAt - acknowledgedAt).toBeGreaterThan(700);
    expect(lastEffectAt - acknowledgedAt).toBeLessThan(1_000);
    expect(performance.now() - acknowledgedAt).toBeGreaterThan(1_400);
    expect(region.effects).not.toContain("tag");
    expect(job.outcome).toBeNull();
  });

  it("claimed again by the same agent runs once at a time", async () => {
    let atOnce = 0;
    let most = 0;
    const run: Run = (job, host) => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      return countingRegion(["shut-down"], async () => {
        if (fake.jobs.get("job_1")?.epoch === 1) fake.takeAway(fake.jobs.get("job_1") as FakeJob);
        await agentRuntime.pause(200);
      })
        .run(job, host)
        .finally(() => {
          atOnce -= 1;
        });
    };
    const job = fake.offer("job_1", stopPayload());
    startLoop(run);
    await fake.until(ended(job));
    expect(job.outcome?.status).toBe("succeeded");
    expect(most).toBe(1);
  });
});

describe("A cancelled job", () => {
  it("stops before its next effect and ends cancelled", async () => {
    const region = countingRegion(["shut-down", "tag", "protect"], async ({ name }) => {
      if (name === "shut-down") (fake.jobs.get("job_1") as FakeJob).cancelRequested = true;
    });
    const job = fake.offer("job_1", stopPayload());
    startLoop(region.run);
    await fake.until(ended(job));
    expect(job.outcome).toEqual({ status: "cancelled" });
    expect(region.effects).toEqual(["shut-down"]);
  });

  it("is not begun when it was cancelled before it was claimed", async () => {
    const region = countingRegion(["shut-down"]);
    const job = fake.offer("job_1", stopPayload());
    job.cancelRequested = true;
    startLoop(region.run);
    await fake.until(ended(job));
    expect(job.outcome).toEqual({ status: "cancelled" });
    expect(region.effects).toEqual([]);
  });

  it("just before the point of no return does not pass it", async () => {
    const region = countingRegion(["shut-down", "destroy"], async () => {}, "destroy");
    fake.onReport = (job, report) => {
      if (report.irreversible) job.cancelRequested = true;
    };
    const job = fake.offer("job_1", stopPayload());
    startLoop(region.run);
    await fake.until(ended(job));
    expect(job.outcome).toEqual({ status: "cancelled" });
    expect(region.effects).toEqual(["shut-down"]);
  });

  it("is completed once it cannot be undone", async () => {
    const region = countingRegion(
      ["shut-down", "destroy", "tidy"],
      async ({ name }) => {
        if (name === "destroy") (fake.jobs.get("job_1") as FakeJob).cancelRequested = true;
      },
      "destroy",
    );
    const job = fake.offer("job_1", stopPayload());
    startLoop(region.run);
    await fake.until(ended(job));
    expect(job.outcome?.status).toBe("succeeded");
    expect(region.effects).toEqual(["shut-down", "destroy", "tidy"]);
  });
});

describe("Stopping", () => {
  it("lets the running effect end, begins no other and releases the job", async () => {
    const working = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const region = countingRegion(["shut-down", "tag"], () => {
      begun.resolve();
      return working.promise;
    });
    const job = fake.offer("job_1", stopPayload());
    const { releaseJobs } = startLoop(region.run);
    await begun.promise;
    const done = releaseJobs(5_000);
    working.resolve();
    await done;
    expect(job.outcome).toEqual({ status: "released" });
    expect(stepsOf(job)).toContain("shut-down succeeded");
    expect(region.effects).toEqual(["shut-down"]);
  });

  it("aborts what does not end in time and releases the job", async () => {
    const region = countingRegion(
      ["shut-down"],
      ({ host }) =>
        new Promise((__, reject) =>
          host.signal?.addEventListener("abort", () => reject(host.signal?.reason)),
        ),
    );
    const job = fake.offer("job_1", stopPayload());
    const { releaseJobs } = startLoop(region.run);
    await fake.until(() => stepsOf(job).includes("shut-down running"));
    await releaseJobs(50);
    expect(job.outcome).toEqual({ status: "released" });
  });

  it("releases a job that its open claim was given, without beginning it", async () => {
    const region = countingRegion(["shut-down"]);
    const job = fake.offer("job_1", stopPayload());
    const claimed = Promise.withResolvers<void>();
    fake.loseReply = (path) => {
      if (!path.endsWith("/claim") || job.reports.length > 0) return false;
      claimed.resolve();
      fake.loseReply = () => false;
      return true;
    };
    const { releaseJobs } = startLoop(region.run);
    await claimed.promise;
    await releaseJobs();
    expect(job.outcome).toEqual({ status: "released" });
    expect(region.effects).toEqual([]);
    const claims = fake.requestsTo("/claim").map(({ body }) => body);
    expect(claims.at(-1)).toMatchObject({ claim_id: claims[0]?.claim_id, capabilities: [], wait_seconds: 0 });
  });
});

describe("Claiming that is held", () => {
  it("begins no job until it goes on, and lets those end that run", async () => {
    const region = countingRegion(["shut-down"]);
    const { loop } = startLoop(region.run);
    const before = fake.offer("job_1", stopPayload());
    await fake.until(ended(before));
    await loop.hold();
    const during = fake.offer("job_2", stopPayload());
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect([during.epoch, loop.runningJobs]).toEqual([0, 0]);
    loop.resume();
    await fake.until(ended(during));
    expect(during.outcome).toMatchObject({ status: "succeeded" });
  });

  it("counts a job whose claim was just answered", async () => {
    const region = countingRegion(["shut-down"]);
    const { loop } = startLoop(region.run);
    const job = fake.offer("job_1", stopPayload());
    await fake.until(() => job.holder !== null);
    await loop.hold();
    // Nothing was open any more when that resolved: the job was counted, or had ended.
    if (job.outcome === null) expect(loop.runningJobs).toBe(1);
    await fake.until(ended(job));
    expect([job.epoch, job.outcome?.status]).toEqual([1, "succeeded"]);
    await expect.poll(() => loop.runningJobs).toBe(0);
  });
});
