import { setTimeout as delay } from "node:timers/promises";
import { customers } from "../many-agents/customers.ts";
import { Fleet } from "../many-agents/fleet.ts";
import { judge, openScene, type Scene, untilQuiet } from "../many-agents/scene.ts";
import { measureWork, type WorkRate } from "../many-agents/work-rate.ts";
import type { Row, RowRun } from "../row.ts";

const jobQueue = "packages/database/src/migrations/0001-baseline/job-queue.ts";

/** How many of what: `jobs` are done in the end, the most of them while agents are stopped and killed. */
const sizes = {
  sample: { agents: 4, jobs: 100, customers: 2, fed: 40, calmSeconds: 0, leaseSeconds: 4, disturbMs: 1_500 },
  full: {
    agents: 20,
    jobs: 20_000,
    customers: 4,
    fed: 400,
    calmSeconds: 25,
    leaseSeconds: 8,
    disturbMs: 1_500,
  },
} as const;
/** Far more than they need; what is not done by then is a violation. */
const limits = { sample: 60, full: 1_200 } as const;

/**
 * Here the agents run on the cores of the control plane, so the speed of twenty of them compared with one
 * mostly depends on the cost of twenty processes. The promise is about the control plane: a job may not cost
 * it much more when many agents claim. Measured on two quiet cores: 9.2 ms and 12.0 ms a job, at 112 and 95
 * jobs a second.
 */
const mostOfOne = 2;

export const row: Row = {
  id: "A8",
  title: "Twenty agents with one region's token hold each job one at a time, and end it once",
  minutes: 6,
  // It uses the whole machine.
  alone: "but for its mutants",
  mutants: [
    {
      name: "claim-without-lock",
      removes: "the lock on the job that a claim has chosen",
      patches: [
        {
          file: jobQueue,
          find: `       order by j.region, j.priority, j.run_at, j.id
       for update skip locked limit 1;`,
          replace: `       order by j.region, j.priority, j.run_at, j.id
       limit 1;`,
        },
      ],
      expects: /two holders/,
    },
    {
      name: "claim-of-living-leases",
      removes: "the check of the lease before a running job is claimed again",
      patches: [
        {
          file: jobQueue,
          find: `where \${isOfRegion} and status = 'running' and lease_until < clock_timestamp()
         and kind`,
          replace: `where \${isOfRegion} and status = 'running'
         and kind`,
        },
      ],
      expects: /two holders/,
    },
    {
      name: "claim-beside-a-running-job",
      removes: "the check for a running job of the same server",
      patches: [
        {
          file: jobQueue,
          find: `
         and not exists (select 1 from job r where r.resource_id = j.resource_id and r.status = 'running')`,
          replace: "",
        },
      ],
      expects: /the api met a bug: .*job_one_running/,
    },
  ],

  async run(run: RowRun) {
    const size = sizes[run.scale];
    const scene = await openScene({ leaseSeconds: size.leaseSeconds, fedServers: size.fed });
    const fleet = new Fleet(scene.world, run.random, { KULE_AGENT_CONCURRENCY: "4" });
    const [calm, over] = [new AbortController(), new AbortController()];
    try {
      const violations: string[] = [];
      fleet.grow(size.agents);
      const ofAll = await rate(scene, run, fleet, size.calmSeconds);
      if (size.calmSeconds > 0) await fleet.shrink(1);
      const ofOne = await rate(scene, run, fleet, size.calmSeconds);
      fleet.grow(size.agents - fleet.size);
      if (ofOne !== null && ofAll !== null && ofAll.cpuMsPerJob > ofOne.cpuMsPerJob * mostOfOne)
        violations.push(
          `a job of ${size.agents} agents costs the control plane ${ofAll.cpuMsPerJob.toFixed(1)} ms of CPU, and one of a lone agent ${ofOne.cpuMsPerJob.toFixed(1)} ms`,
        );

      const shopping = customers(scene.world, size.customers, scene.subnetId, run.random, over.signal);
      const disturbed = fleet.disturb(size.disturbMs, size.leaseSeconds * 1_200, calm.signal);
      await feedUntil(scene, run, async () => (await scene.ended()) >= size.jobs, limits[run.scale]);
      over.abort();
      const shopped = await shopping;
      calm.abort();
      await disturbed;
      violations.push(...shopped.violations, ...(await untilQuiet(scene, 90)));
      await fleet.end();
      const judged = await judge(scene, fleet);
      if (judged.done < size.jobs) violations.push(`only ${judged.done} of ${size.jobs} jobs were done`);
      if (run.scale === "full" && judged.takenOver === 0)
        violations.push("no job was ever taken over: the disturbances reached nothing");
      return {
        cases: judged.done,
        violations: [...violations, ...judged.violations],
        figures: {
          agents: size.agents,
          ...(ofOne === null ? {} : { "one agent": shown(ofOne) }),
          ...(ofAll === null ? {} : { "all agents": shown(ofAll) }),
          "asked through the API": judged.done - scene.feeder.fed,
          "servers made": shopped.servers,
          "agents stopped": fleet.stopped,
          "agents killed": fleet.killed,
          "jobs taken over": judged.takenOver,
        },
      };
    } finally {
      over.abort();
      calm.abort();
      await scene.close();
    }
  },
};

/**
 * Keeps the queue full until the condition holds, for so long at most, or until something is definitely
 * broken.
 */
async function feedUntil(
  scene: Scene,
  run: RowRun,
  condition: () => Promise<boolean>,
  limitSeconds: number,
): Promise<void> {
  const deadline = performance.now() + limitSeconds * 1000;
  let told = performance.now();
  while (performance.now() < deadline && !(await scene.isBroken())) {
    await scene.feeder.feed();
    if (await condition()) return;
    if (performance.now() - told > 15_000) {
      told = performance.now();
      run.progress(`${await scene.ended()} jobs done`);
    }
    await delay(200);
  }
}

/**
 * Jobs that end in a second while the queue is never empty and every agent has worked for as long as that
 * already, so that none is slow because it is new; null without a measurement.
 */
async function rate(scene: Scene, run: RowRun, fleet: Fleet, seconds: number): Promise<WorkRate | null> {
  if (seconds === 0) return null;
  await feedUntil(scene, run, async () => fleet.areAllAtWork(), 120);
  await feedUntil(scene, run, async () => false, seconds);
  const found = await measureWork(scene, () => feedUntil(scene, run, async () => false, seconds));
  run.progress(`${fleet.size} agents: ${shown(found)}`);
  return found;
}

const shown = ({ jobsPerSecond, cpuMsPerJob }: WorkRate) =>
  `${jobsPerSecond.toFixed(0)} jobs/s at ${cpuMsPerJob.toFixed(1)} ms`;
