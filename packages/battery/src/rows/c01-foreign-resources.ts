import {
  emptyIdentifiers,
  listsDuringForeignGrowth,
  loginsAtForeignOrganisations,
} from "@kule/api/testing/proofs/isolation-answers";
import { runIsolationMatrix } from "@kule/api/testing/proofs/isolation-matrix";
import { actorsOf } from "@kule/api/testing/proofs/matrix-actors";
import { operations } from "@kule/contract/generated/operations";
import { worldCheck } from "@kule/testing/world-check/world-check";
import type { Row } from "../row.ts";
import { unfilteredProducts } from "../tenancy/organisation-filters.ts";
import { withTwoOrganisations } from "../tenancy/with-two-organisations.ts";

/** The matrix is far larger than this; fewer cells mean that its places were lost. */
const LEAST_CELLS = { full: 9_000, sample: 1_500 };
const inSample = /nobody|admin of A|agent of A|session in A/;
/** Of five texts that are not ids, the one that databases refuse. */
const sampledMalformed = "malformed: with a NUL";

export const row: Row = {
  id: "C1",
  title: "A resource of another organisation answers byte for byte like one that never existed.",
  minutes: 7,
  mutants: unfilteredProducts,
  run: (run) =>
    withTwoOrganisations(async (all) => {
      const actors = actorsOf(all).filter(({ name }) => run.scale === "full" || inSample.test(name));
      const matrix = await runIsolationMatrix(all, {
        actors,
        // In short a session calls only what no token may.
        place: ({ operation }, { name }) =>
          run.scale === "full" || !/session/.test(name) || operations[operation].permission === "session",
        state: ({ name }) =>
          run.scale === "full" || !name.startsWith("malformed:") || name === sampledMalformed,
      });
      run.progress(`${matrix.cellsRun} of ${matrix.cellsInSpec} cells`);
      const others = [
        await listsDuringForeignGrowth(all),
        await loginsAtForeignOrganisations(all),
        await emptyIdentifiers(all),
      ];
      const broken = await worldCheck({ ownerUrl: all.world.database.ownerUrl });
      const violations = [
        ...matrix.failures,
        ...matrix.unsorted.map((place) => `nobody has said what ${place} names`),
        ...others.flatMap((findings) => findings.violations),
        ...broken.map(({ invariant, check, subject }) => `${invariant} ${check}: ${subject}`),
      ];
      if (matrix.cellsRun !== matrix.cellsInSpec)
        violations.push(`only ${matrix.cellsRun} of ${matrix.cellsInSpec} cells were run`);
      if (matrix.cellsInSpec < LEAST_CELLS[run.scale])
        violations.push(`the matrix has only ${matrix.cellsInSpec} cells`);
      return {
        cases: matrix.cellsRun + others.reduce((sum, { cases }) => sum + cases, 0),
        violations,
        figures: {
          "cells run": matrix.cellsRun,
          "cells in the contract": matrix.cellsInSpec,
          actors: actors.length,
        },
      };
    }),
};
