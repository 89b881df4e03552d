import { killAtEach } from "../job-kinds/crash-batch.ts";
import { batchesOf, holdsJob, sampleOfEachStep, traceCrashPlaces } from "../job-kinds/crash-places.ts";
import type { RowResult, RowRun } from "../row.ts";
import { newKey, newOwners, withSilentCa } from "./key-course.ts";

const BATCH = 8;
/** A sample has one place of each step. */
const SAMPLE_SHARE = 0;
/** A program with fewer places than this has lost them. */
const LEAST_PLACES = 6;
/** Where the row expires leases itself, none may expire earlier. */
const LEASE_SECONDS = { sample: 30, full: 5 };

/** Kills agents at every place of a certificate's job: the key that one has made is lost with it, and another one makes one. */
export function killAtCertificates(run: RowRun): Promise<RowResult> {
  return withSilentCa({ leaseSeconds: LEASE_SECONDS[run.scale] }, async (scene) => {
    const violations: string[] = [];
    const recoverySeconds: number[] = [];
    const traced = await traceCrashPlaces(scene, [newKey], (each) => each);
    const places = (traced.get(newKey) ?? []).filter(holdsJob);
    if (places.length < LEAST_PLACES)
      violations.push(`a certificate's job has only ${places.length} crash points`);
    const chosen = run.scale === "full" ? places : sampleOfEachStep(places, SAMPLE_SHARE, run.random);
    let cases = 0;
    for (const batch of batchesOf(chosen, BATCH)) {
      if (violations.length > 0) break;
      const subjects = await newOwners(scene, batch.length);
      const result = await killAtEach(scene, newKey, batch, subjects, { passLeases: run.scale === "sample" });
      cases += batch.length;
      violations.push(...result.violations);
      recoverySeconds.push(...result.recoverySeconds);
      run.progress(`certificates: ${cases} of ${chosen.length} kills, ${violations.length} violations`);
    }
    return {
      cases,
      violations,
      recoverySeconds,
      figures: { "crash points of certificates' jobs": places.length },
    };
  });
}
