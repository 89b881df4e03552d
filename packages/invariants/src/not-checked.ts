import type { Invariant } from "./violation.ts";

export type NotChecked = { readonly invariant: Invariant; readonly reason: string };

const regionReason =
  "needs a look at the hypervisor, which agents do not report; the tests compare it with the simulated region";

/** What the database alone cannot say. Shown to operators, so that silence is not taken for an all-clear. */
export const notCheckedInDatabase: readonly NotChecked[] = [
  { invariant: "I1", reason: regionReason },
  { invariant: "I2", reason: regionReason },
  { invariant: "I3", reason: `that the VM is as the database wants it: ${regionReason}` },
  {
    invariant: "I8",
    reason: "needs a journal of effects, which only the simulated region has; the tests look at it",
  },
  { invariant: "I12", reason: "the audit trail is not chained and signed yet" },
  { invariant: "I13", reason: `that no VM went without a destroy job: ${regionReason}` },
  { invariant: "I14", reason: "there is no edge configuration yet" },
];
