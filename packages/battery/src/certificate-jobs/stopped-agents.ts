import { batchesOf, holdsJob, sampleOfEachStep, traceCrashPlaces } from "../job-kinds/crash-places.ts";
import { withWatchedApi } from "../job-kinds/watched-api.ts";
import { stopAtEach, untestedFence } from "../job-kinds/zombie-batch.ts";
import type { RowResult, RowRun } from "../row.ts";
import { keysOf, newKey, newOwners, withSilentCa } from "./key-course.ts";

const BATCH = 8;
/** A sample has one place of each step. */
const SAMPLE_SHARE = 0;
const LEASE_SECONDS = 5;

/**
 * Stops agents at every crash point of a certificate's job, and continues them when another one has made a key: the key
 * that they have made is refused, and the attempt goes on with the other one's.
 */
export function stopAtCertificates(run: RowRun): Promise<RowResult> {
  return withSilentCa({ leaseSeconds: LEASE_SECONDS }, (scene) =>
    withWatchedApi(scene, run, async (api) => {
      const violations: string[] = [];
      const traced = await traceCrashPlaces(scene, [newKey], (each) => each);
      const places = (traced.get(newKey) ?? []).filter(holdsJob);
      const chosen = run.scale === "full" ? places : sampleOfEachStep(places, SAMPLE_SHARE, run.random);
      let [cases, writes, refused] = [0, 0, 0];
      for (const batch of batchesOf(chosen, BATCH)) {
        if (violations.length > 0) break;
        const result = await stopAtEach(scene, {
          course: newKey,
          places: batch,
          subjects: await newOwners(scene, batch.length),
          successor: "done",
          leaseSeconds: LEASE_SECONDS,
          api,
          stateOf: () => keysOf(scene),
        });
        cases += batch.length;
        writes += result.writes;
        refused += result.refused;
        violations.push(...result.violations);
        run.progress(`certificates: ${cases} agents, ${refused} of ${writes} writes refused`);
      }
      if (violations.length === 0) violations.push(...untestedFence("of certificates", cases, refused));
      return {
        cases,
        violations,
        figures: { "stopped at certificates": cases, "of those agents' writes refused": refused },
      };
    }),
  );
}
