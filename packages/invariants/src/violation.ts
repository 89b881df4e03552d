/**
 * Which promise was broken. The numbers are those of the reliability battery's list of invariants, which
 * docs/runbooks/invariants.md explains; a promise of our own has a name.
 */
export type Invariant =
  | "I1"
  | "I2"
  | "I3"
  | "I4"
  | "I5"
  | "I6"
  | "I7"
  | "I8"
  | "I9"
  | "I10"
  | "I11"
  | "I12"
  | "I13"
  | "I14"
  | "console-ended"
  | "secret-kept";

export type Violation = {
  readonly invariant: Invariant;
  /** Which check of the invariant found it. */
  readonly check: string;
  /** Where it was found: ids, addresses, numbers. */
  readonly subject: string;
};
