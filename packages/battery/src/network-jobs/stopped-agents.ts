import type { EdgeNetwork } from "@kule/edge/edge-network";
import {
  batchesOf,
  type CrashPlace,
  holdsJob,
  sampleOfEachStep,
  traceCrashPlaces,
} from "../job-kinds/crash-places.ts";
import { RegionScene } from "../job-kinds/region-scene.ts";
import { withWatchedApi } from "../job-kinds/watched-api.ts";
import { stopAtEach, untestedFence } from "../job-kinds/zombie-batch.ts";
import type { RowResult, RowRun } from "../row.ts";
import type { EdgeTestbed } from "./edge-testbed.ts";
import { type NetworkCourse, networkCourses } from "./network-courses.ts";
import { begunNetworks, untilEdge } from "./region-networks.ts";

const BATCH = 8;
/** A sample has one place of each step. */
const SAMPLE_SHARE = 0;
/**
 * Each command of an edge takes its time on a busy machine: all agents of a batch reach their crash points
 * before the first lease expires.
 */
const LEASE_SECONDS = 10;

/**
 * Stops agents at every crash point of the jobs of networks, also between any two commands of an edge, and
 * continues them when another one has done their job: what they write is refused, and the edge stays as the
 * other agent has configured it. The successor has always finished: only a hypervisor's tasks can be held
 * half-way.
 */
export function stopAtNetworks(run: RowRun, testbed: EdgeTestbed): Promise<RowResult> {
  return RegionScene.use(
    { leaseSeconds: LEASE_SECONDS },
    (scene) =>
      withWatchedApi(scene, run, async (api) => {
        await untilEdge(scene);
        const violations: string[] = [];
        const traced = await traceCrashPlaces(scene, coursesOf(run, testbed), (course) => course);
        let [cases, writes, refused] = [0, 0, 0];
        for (const { course, places } of plan(traced, run)) {
          const subjects = await begunNetworks(scene, course, places.length);
          const result = await stopAtEach(scene, {
            course,
            places,
            subjects,
            successor: "done",
            leaseSeconds: LEASE_SECONDS,
            api,
            stateOf: () => stateOfEdge(testbed),
          });
          cases += places.length;
          writes += result.writes;
          refused += result.refused;
          violations.push(...result.violations.map((text) => `a network ${course.name}: ${text}`));
          run.progress(`a network ${course.name}: ${cases} agents, ${refused} of ${writes} writes refused`);
          if (violations.length > 0) break;
        }
        if (violations.length === 0) violations.push(...untestedFence("of networks", cases, refused));
        return {
          cases,
          violations,
          figures: { "stopped at networks": cases, "of their writes refused": refused },
        };
      }),
    testbed,
  );
}

/** A sample has the course that creates a whole network with one job. */
function coursesOf(run: RowRun, testbed: EdgeTestbed): readonly NetworkCourse[] {
  const all = networkCourses(testbed);
  return run.scale === "full" ? all : all.slice(0, 1);
}

/** In full every place of the job that has all steps, and one of each step of the others, which have no other ones. */
function plan(traced: ReadonlyMap<NetworkCourse, readonly CrashPlace[]>, { scale, random }: RowRun) {
  return [...traced].flatMap(([course, all], index) => {
    const places = all.filter(holdsJob);
    if (places.length === 0) throw new Error(`a network ${course.name} has no crash points`);
    const some = sampleOfEachStep(places, SAMPLE_SHARE, random);
    const chosen = scale === "full" ? (index === 0 ? places : some) : some.slice(0, BATCH);
    return batchesOf(chosen, BATCH).map((batch) => ({ course, places: batch }));
  });
}

/** The whole state of the edge, as it is read. */
async function stateOfEdge({ edge }: EdgeTestbed): Promise<string> {
  const networks = [];
  for (const networkId of (await edge.networks()).toSorted()) {
    const nothing: EdgeNetwork = { networkId, generation: 1, subnets: [], gateway: null };
    networks.push([networkId, (await edge.observe(nothing)).seen]);
  }
  return JSON.stringify(networks);
}
