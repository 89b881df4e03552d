import { type Separation, separation, standardError } from "@kule/api/testing/proofs/timing";
import type { Row, Scale } from "../row.ts";
import { withoutTenantGuard } from "../tenancy/organisation-filters.ts";
import { timedOperations } from "../tenancy/timed-operations.ts";
import { withTwoOrganisations } from "../tenancy/with-two-organisations.ts";

/** Rounds of three calls: others' objects, absent ones, and absent ones a second time. */
const rounds: { readonly [scale in Scale]: { readonly reads: number; readonly mutations: number } } = {
  full: { reads: 4_000, mutations: 1_500 },
  sample: { reads: 400, mutations: 150 },
};

/**
 * A difference that no attacker could use. A shorter measurement is less precise: chance alone makes more of
 * a difference.
 */
const TOLERANCE = 0.05;
const STANDARD_ERRORS = 4;
/** A busy machine may disturb one measurement; a real difference shows in each of them. */
const ATTEMPTS = 3;

export const row: Row = {
  id: "C2",
  title: "The answer for another organisation's resource takes as long as for one that never existed.",
  minutes: 1,
  alone: "but for its mutants",
  mutants: [
    {
      name: "fetch-then-compare",
      removes: "organisation_id in the query of servers: it is compared afterwards",
      patches: [
        {
          file: "apps/api/src/products/servers/store.ts",
          find: '.where("server.organisation_id", "=", organisationId)',
          replace: "",
        },
        {
          file: "apps/api/src/products/servers/store.ts",
          find: "const [row] = await readServer(db, { organisationId, id });\n  return row ?? null;",
          replace:
            "const [row] = await readServer(db, { organisationId, id });\n  return row?.organisation_id === organisationId ? row : null;",
        },
        withoutTenantGuard,
      ],
      expects: /^getServer tells what is of others/,
    },
  ],
  run: (run) =>
    withTwoOrganisations(async (all) => {
      const violations: string[] = [];
      const seen: number[] = [];
      const controls: number[] = [];
      let pairs = 0;
      let again = 0;
      for (const { name, calls, isMutation } of timedOperations(all)) {
        const count = isMutation ? rounds[run.scale].mutations : rounds[run.scale].reads;
        const band = Math.max(TOLERANCE, STANDARD_ERRORS * standardError(count));
        let best: Separation | null = null;
        for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
          const measured = await separation(calls, count);
          pairs += count;
          if (attempt > 1) again += 1;
          if (best === null || distance(measured.seen) < distance(best.seen)) best = measured;
          if (distance(best.seen) <= band) break;
        }
        if (best === null) throw new Error(`${name} was not measured`);
        run.progress(`${name}: AUC ${best.seen.toFixed(3)}, control ${best.control.toFixed(3)}`);
        seen.push(best.seen);
        controls.push(best.control);
        if (distance(best.seen) > band)
          violations.push(
            `${name} tells what is of others from what never was: AUC ${best.seen.toFixed(3)}, ${ATTEMPTS} times beyond 0.5 ± ${band.toFixed(3)}; control ${best.control.toFixed(3)}`,
          );
      }
      return {
        cases: pairs,
        violations,
        figures: {
          operations: seen.length,
          "AUC furthest from 0.5": furthest(seen),
          "control furthest from 0.5": furthest(controls),
          "measured again": again,
        },
      };
    }),
};

const distance = (area: number) => Math.abs(area - 0.5);

function furthest(areas: readonly number[]): string {
  return (areas.toSorted((one, other) => distance(other) - distance(one))[0] ?? Number.NaN).toFixed(3);
}
