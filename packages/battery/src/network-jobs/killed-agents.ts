import { isDeepStrictEqual } from "node:util";
import type { EdgeNetwork } from "@kule/edge/edge-network";
import type { SeenRuleset } from "@kule/edge/observe";
import { wantedNetworks } from "@kule/testing/world-check/edge-invariants";
import { killAtEach } from "../job-kinds/crash-batch.ts";
import { batchesOf, holdsJob, sampleOfEachStep, traceCrashPlaces } from "../job-kinds/crash-places.ts";
import { RegionScene } from "../job-kinds/region-scene.ts";
import type { Subject } from "../job-kinds/scene.ts";
import type { RowResult, RowRun } from "../row.ts";
import type { EdgeTestbed } from "./edge-testbed.ts";
import { type NetworkCourse, networkCourse, networkCourseNames } from "./network-courses.ts";
import { begunNetworks, untilEdge } from "./region-networks.ts";

const BATCH = 8;
/** A sample has one place of each step. */
const SAMPLE_SHARE = 0;
/** A program with fewer places than this has lost them. */
const LEAST_PLACES = 8;
/**
 * Where the row expires leases itself, none may expire earlier: each command of an edge takes its time on a
 * busy machine.
 */
const LEASE_SECONDS = { sample: 30, full: 10 };

/**
 * Kills agents at every place of the jobs of networks: between any two of an edge's commands, among others. A sample has
 * the course that makes all of a network by one job.
 *
 * @returns one part for each course
 */
export function killAtNetworks(run: RowRun): ((testbed: EdgeTestbed) => Promise<RowResult>)[] {
  const names = run.scale === "full" ? networkCourseNames : networkCourseNames.slice(0, 1);
  return names.map((name) => (testbed) => killIn(run, testbed, name));
}

function killIn(run: RowRun, testbed: EdgeTestbed, name: NetworkCourse["name"]): Promise<RowResult> {
  return RegionScene.use(
    { leaseSeconds: LEASE_SECONDS[run.scale] },
    async (scene) => {
      await untilEdge(scene);
      const violations: string[] = [];
      const recoverySeconds: number[] = [];
      const course = networkCourse(testbed, name);
      const traced = await traceCrashPlaces(scene, [course], (each) => each);
      const places = (traced.get(course) ?? []).filter(holdsJob);
      const figures = {
        "crash points of networks' jobs": places.length,
        "of them after a command to the edge": places.filter((place) => place.name.endsWith(".effect-done"))
          .length,
      };
      if (places.length < LEAST_PLACES)
        violations.push(`a network ${name} has only ${places.length} crash points`);
      const chosen = run.scale === "full" ? places : sampleOfEachStep(places, SAMPLE_SHARE, run.random);
      let cases = 0;
      for (const batch of batchesOf(chosen, BATCH)) {
        if (violations.length > 0) break;
        const subjects = await begunNetworks(scene, course, batch.length);
        const before = await rulesOf(testbed, subjects);
        const result = await killAtEach(scene, course, batch, subjects, {
          passLeases: run.scale === "sample",
          whenKilled: () => tornRules(scene, testbed, course, before),
        });
        cases += batch.length;
        violations.push(...result.violations);
        recoverySeconds.push(...result.recoverySeconds);
        run.progress(
          `a network ${name}: ${cases} of ${chosen.length} kills, ${violations.length} violations`,
        );
      }
      return { cases, violations, recoverySeconds, figures };
    },
    testbed,
  );
}

type Rules = SeenRuleset["objects"];

/** The rules that are in force for each; null where there is no namespace. */
async function rulesOf(
  testbed: EdgeTestbed,
  subjects: readonly Subject[],
): Promise<Map<string, Rules | null>> {
  const rules = new Map<string, Rules | null>();
  for (const { network } of subjects)
    if (network !== "") rules.set(network, await rulesNow(testbed, network));
  return rules;
}

async function rulesNow(testbed: EdgeTestbed, networkId: string): Promise<Rules | null> {
  const nothing: EdgeNetwork = { networkId, generation: 1, subnets: [], gateway: null };
  return (await testbed.edge.observe(nothing)).seen?.ruleset.objects ?? null;
}

/** A killed agent has left the old rules, or the new ones; without any, no interface is connected. */
async function tornRules(
  scene: RegionScene,
  testbed: EdgeTestbed,
  { leaves, name }: NetworkCourse,
  before: ReadonlyMap<string, Rules | null>,
): Promise<string[]> {
  const found: string[] = [];
  for (const { want } of await wantedNetworks(scene.owner, scene.region)) {
    const { rules, seen } = await testbed.edge.observe(want as EdgeNetwork);
    const old = before.get(want.networkId) ?? null;
    if (seen === null) {
      if (old !== null && leaves === "present") found.push(`${want.networkId} has lost its namespace`);
      continue;
    }
    const { objects } = seen.ruleset;
    const isClosed = objects.length === 0 && seen.links.length === 0;
    const isWhole = isDeepStrictEqual(objects, rules) || (old !== null && isDeepStrictEqual(objects, old));
    if (!isWhole && !isClosed)
      found.push(`${want.networkId} has ${objects.length} rules of neither the old state nor the new`);
  }
  return found.map((text) => `a network ${name}, agents killed: ${text}`);
}
