import { type Exchange, HttpFaultProxy } from "@kule/testing/rig/http-fault-proxy";
import { batchesOf, holdsJob, sampleOfEachStep, traceCrashPlaces } from "../job-kinds/crash-places.ts";
import { RegionScene } from "../job-kinds/region-scene.ts";
import { stopAtEach } from "../job-kinds/zombie-batch.ts";
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
  const exchanges: Exchange[] = [];
  return RegionScene.use({ leaseSeconds: LEASE_SECONDS }, async (scene) => {
    const proxy = await HttpFaultProxy.open({
      target: new URL(scene.world.apiUrl).origin,
      random: run.random,
      keepsIdleConnections: true,
      onExchange: (exchange) => void exchanges.push(exchange),
    });
    try {
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
          apiOrigin: proxy.origin,
          exchanges,
          stateOf: () => statesOfMachines(scene),
        });
        cases += batch.length;
        writes += result.writes;
        refused += result.refused;
        violations.push(...result.violations);
        run.progress(`load balancers: ${cases} agents, ${refused} of ${writes} writes refused`);
      }
      return {
        cases,
        violations,
        figures: { "stopped at load balancers": cases, "of these agents' writes refused": refused },
      };
    } finally {
      await proxy.close();
    }
  });
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
