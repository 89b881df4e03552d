/** Which promise was broken; the numbers are explained in docs/reliability.md's terms, each beside its check. */
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
  | "I13"
  | "secret-kept";

export type Violation = {
  readonly invariant: Invariant;
  /** Which check of the invariant found it. */
  readonly check: string;
  /** What it was found at: ids, addresses, numbers. */
  readonly subject: string;
};
