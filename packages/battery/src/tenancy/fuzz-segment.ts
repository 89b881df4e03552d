import { type FuzzCase, fuzzCases } from "@kule/api/testing/proofs/fuzz-cases";
import { fuzzPools } from "@kule/api/testing/proofs/fuzz-pools";
import { FuzzTally, fuzzOnce } from "@kule/api/testing/proofs/fuzz-run";
import { missingInAudit } from "@kule/api/testing/proofs/refusals-in-audit";
import { EDGE_REPORT_CHECK } from "@kule/invariants/networks";
import { worldCheck } from "@kule/testing/world-check/world-check";
import fc from "fast-check";
import { withTwoOrganisations } from "./with-two-organisations.ts";

export type FuzzSegment = {
  readonly tally: FuzzTally;
  readonly milliseconds: readonly number[];
  readonly violations: readonly string[];
};

/** Generated at a time; more would only fill the memory. */
const batch = 500;
/** A broken API fails everywhere; the first findings are enough. */
const enough = 25;

/** This many generated requests to a world of their own; then the world is checked. */
export function fuzzSegment(
  requests: number,
  seed: number,
  progress: (done: number) => void,
): Promise<FuzzSegment> {
  return withTwoOrganisations(async (all) => {
    const spare = await all.world.addOrganisation("spare");
    const region = await all.world.addRegion("spare");
    const pools = fuzzPools(all, region.slug, spare.id);
    const cases = fuzzCases(pools);
    const tally = new FuzzTally();
    const milliseconds: number[] = [];
    const violations: string[] = [];
    for (let done = 0; done < requests && violations.length < enough; done += batch) {
      const some: FuzzCase[] = fc.sample(cases, {
        seed: seed + done,
        numRuns: Math.min(batch, requests - done),
      });
      for (const fuzz of some) {
        const startedAt = performance.now();
        await fuzzOnce(all.world.app, fuzz, pools, tally).catch((error: unknown) => {
          violations.push(`${fuzz.operation.id}: ${error instanceof Error ? error.message : error}`);
        });
        milliseconds.push(performance.now() - startedAt);
      }
      progress(done + some.length);
    }
    const { ownerUrl } = all.world.database;
    // The generated reports of the agents are not true of any edge.
    const broken = (await worldCheck({ ownerUrl })).filter(({ check }) => check !== EDGE_REPORT_CHECK);
    const unnoted = await missingInAudit(ownerUrl, tally.refusedMutations);
    violations.push(
      ...broken.map(({ invariant, check, subject }) => `${invariant} ${check}: ${subject}`),
      ...unnoted.map(([id, sent]) => `the refusal of ${id} is not in the audit trail: ${sent}`),
    );
    return { tally, milliseconds, violations };
  });
}
