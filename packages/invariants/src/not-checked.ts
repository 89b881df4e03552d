import type { Invariant } from "./violation.ts";

export type NotChecked = { readonly invariant: Invariant; readonly reason: string };

/**
 * What the database alone cannot show. Listed for operators, so that no findings are not taken for an
 * all-clear.
 */
export const notCheckedInDatabase: readonly NotChecked[] = [
  {
    invariant: "I8",
    reason: "needs a journal of effects, which only the simulated region has; the tests look at it",
  },
  {
    invariant: "I14",
    reason:
      "what an edge holds its agent alone sees; each look of it is compared, and the tests look themselves",
  },
];
