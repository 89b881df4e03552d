import type { Invariant } from "./violation.ts";

export type NotChecked = { readonly invariant: Invariant; readonly reason: string };

/**
 * What the database alone cannot show. Listed for operators, so that no findings are not taken for an
 * all-clear.
 */
export const notCheckedInDatabase: readonly NotChecked[] = [
  {
    invariant: "I8",
    reason: "It needs a journal of all effects, which only the simulated region keeps. The tests read it.",
  },
  {
    invariant: "I14",
    reason:
      "Only the agent of an edge sees the rules that it has. The agent compares them at each of its checks.",
  },
];
