import type { RowRun } from "../row.ts";

export type Found = {
  readonly what: string;
  readonly cases: number;
  readonly found: readonly string[];
  readonly recoverySeconds?: readonly number[];
  /** Why a part of it could not be tried on this machine. */
  readonly missing?: string;
};

/** A part of the row; it finds violations, and throws only when it could not be carried out. */
export type Part = (run: RowRun) => Promise<Found>;
