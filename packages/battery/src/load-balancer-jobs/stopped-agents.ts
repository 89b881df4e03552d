import { batchesOf, holdsJob, sampleOfEachStep, traceCrashPlaces } from "../job-kinds/crash-places.ts";
import { RegionScene } from "../job-kinds/region-scene.ts";
import { withWatchedApi } from "../job-kinds/watched-api.ts";
import { stopAtEach, untestedFence } from "../job-kinds/zombie-batch.ts";
import type { RowResult, RowRun } from "../row.ts";
import { begunLoadBalancers } from "./killed-agents.ts";
import { givenListener } from "./load-balancer-courses.ts";

const BATCH = 8;
/** A sample has one place of each step. */
const SAMPLE_SHARE = 0;
/** Each call of a guest takes its time on a busy machine. */
const LEASE_SECONDS = 10;

/**
 * Stops agents at every crash point of a load balancer's job, and continues them when another one has done it: what they write
 * is refused, and the machines keep what the other agent has put into them.
 */
export function stopAtLoadBalancers(run: RowRun): Promise<RowResult> {
  return RegionScene.use({ leaseSeconds: LEASE_SECONDS }, (scene) =>
    withWatchedApi(scene, run, async (api) => {
      const violations: string[] = [];
      const traced = await traceCrashPlaces(scene, [givenListener], (each) => each);
      const places = (traced.get(givenListener) ?? []).filter(holdsJob);
      const chosen = run.scale === "full" ? places : sampleOfEachStep(places, SAMPLE_SHARE, run.random);
      let [cases, writes, refused] = [0, 0, 0];
      for (const batch of batchesOf(chosen, BATCH)) {
        if (violations.length > 0) break;
        const subjects = await begunLoadBalancers(scene, batch.length);
        const result = await stopAtEach(scene, {
          course: givenListener,
          places: batch,
          subjects,
          successor: "done",
          leaseSeconds: LEASE_SECONDS,
          api,
          stateOf: () => statesOfMachines(scene),
        });
        cases += batch.length;
        writes += result.writes;
        refused += result.refused;
        violations.push(...result.violations);
        run.progress(`load balancers: ${cases} agents, ${refused} of ${writes} writes refused`);
      }
      if (violations.length === 0) violations.push(...untestedFence("of load balancers", cases, refused));
      return {
        cases,
        violations,
        figures: { "stopped at load balancers": cases, "of these agents' writes refused": refused },
      };
    }),
  );
}

/** What every guest has that an agent has put there. */
async function statesOfMachines(scene: RegionScene): Promise<string> {
  const answer = await fetch(`${scene.world.labControlUrl}/vms`);
  const vms = (await answer.json()) as {
    readonly vmid: number;
    readonly guest: { readonly appliance?: unknown };
  }[];
  return JSON.stringify(vms.map(({ vmid, guest }) => [vmid, guest.appliance]));
}
