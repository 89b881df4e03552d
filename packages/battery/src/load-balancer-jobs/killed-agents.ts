import type { Work } from "../job-kinds/course.ts";
import { killAtEach } from "../job-kinds/crash-batch.ts";
import { batchesOf, holdsJob, sampleOfEachStep, traceCrashPlaces } from "../job-kinds/crash-places.ts";
import { RegionScene } from "../job-kinds/region-scene.ts";
import type { RowResult, RowRun } from "../row.ts";
import { givenListener } from "./load-balancer-courses.ts";

const BATCH = 8;
/** A sample has one place of each step. */
const SAMPLE_SHARE = 0;
/** A program with fewer places than this has lost them. */
const LEAST_PLACES = 8;
/** Where the row expires leases itself, none may expire earlier: each call of a guest takes its time on a busy machine. */
const LEASE_SECONDS = { sample: 30, full: 10 };

/** Kills agents at every place of a load balancer's job: between the parts that a guest gets, and around its switch. */
export function killAtLoadBalancers(run: RowRun): Promise<RowResult> {
  return RegionScene.use({ leaseSeconds: LEASE_SECONDS[run.scale] }, async (scene) => {
    const violations: string[] = [];
    const recoverySeconds: number[] = [];
    const traced = await traceCrashPlaces(scene, [givenListener], (each) => each);
    const places = (traced.get(givenListener) ?? []).filter(holdsJob);
    if (places.length < LEAST_PLACES)
      violations.push(`a load balancer's job has only ${places.length} crash points`);
    const chosen = run.scale === "full" ? places : sampleOfEachStep(places, SAMPLE_SHARE, run.random);
    let cases = 0;
    for (const batch of batchesOf(chosen, BATCH)) {
      if (violations.length > 0) break;
      const subjects = await begunLoadBalancers(scene, batch.length);
      const result = await killAtEach(scene, givenListener, batch, subjects, {
        passLeases: run.scale === "sample",
      });
      cases += batch.length;
      violations.push(...result.violations);
      recoverySeconds.push(...result.recoverySeconds);
      run.progress(`load balancers: ${cases} of ${chosen.length} kills, ${violations.length} violations`);
    }
    return {
      cases,
      violations,
      recoverySeconds,
      figures: { "crash points of load balancers' jobs": places.length },
    };
  });
}

/** Load balancers that serve, made with a healthy agent. */
export async function begunLoadBalancers(scene: RegionScene, count: number) {
  const work: Work = (subject, kind) => scene.work(subject, kind);
  const agent = scene.world.startAgent({ KULE_AGENT_CONCURRENCY: "8" });
  try {
    return await Promise.all(Array.from({ length: count }, () => givenListener.begin(scene, work)));
  } finally {
    await agent.end();
  }
}
