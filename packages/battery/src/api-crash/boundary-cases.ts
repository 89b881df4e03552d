import type { MutationCase } from "@kule/api/testing/proofs/mutation-cases";
import { operations } from "@kule/contract/generated/operations";
import type { OperationId } from "@kule/contract/schemas";

/** One place at which an API is killed while it carries out a request. */
export type BoundaryCase = {
  readonly mutation: MutationCase;
  readonly point: string;
  /** Which time the request reaches the point, from 1. */
  readonly time: number;
  /** Whether everything the request does is committed by then. */
  readonly isAfterCommit: boolean;
  /**
   * Whether the request's queries to other services had been made by then: only their traces in the database
   * are left.
   */
  readonly isAfterAsking: boolean;
};

/** What an undisturbed run of a mutation showed. */
export type Reference = {
  readonly changes: readonly string[];
  readonly status: number;
  /** Answer without what differs from run to run. */
  readonly shape: unknown;
  readonly points: readonly string[];
};

/** Writes with one statement, which Postgres executes completely or not at all. */
const withoutTransaction = new Set<OperationId>(["reportHealth"]);

/** Every boundary that the undisturbed run passed. */
export function boundaryCases(mutation: MutationCase, points: readonly string[]): BoundaryCase[] {
  const lastCommit = withoutTransaction.has(mutation.operation)
    ? points.indexOf("done")
    : points.lastIndexOf("committed");
  return points.map((point, index) => ({
    mutation,
    point,
    time: points.slice(0, index + 1).filter((each) => each === point).length,
    isAfterCommit: index >= lastCommit,
    isAfterAsking: points.includes("written") && index >= points.indexOf("written"),
  }));
}

/** The boundaries that the request did not pass although its effects require them. */
export function missingPoints(
  operation: OperationId,
  { changes, points }: Pick<Reference, "changes" | "points">,
): string[] {
  const expected = ["before-begin", "done", "replied"];
  if (!withoutTransaction.has(operation)) expected.push("before-commit", "committed");
  if (operations[operation].audit !== null) expected.push("written");
  if (changes.some((line) => line.startsWith("job + "))) expected.push("allocated", "job-written");
  if (changes.some((line) => line.startsWith("_private_jobs + ") && line.includes("job_id")))
    expected.push("queued");
  return expected.filter((point) => !points.includes(point));
}

/**
 * Sorts cases so that neighbours have different operations: the process for the next case is also the one
 * that gets the repeated request of the present one, and must not be killed by it.
 */
export function withoutNeighboursAlike<Case extends Pick<BoundaryCase, "mutation">>(
  cases: readonly Case[],
): (Case | null)[] {
  const left = [...cases];
  const ordered: (Case | null)[] = [];
  while (left.length > 0) {
    const last = ordered.at(-1)?.mutation.operation;
    const index = left.findIndex(({ mutation }) => mutation.operation !== last);
    ordered.push(index < 0 ? null : (left.splice(index, 1)[0] ?? null));
  }
  return ordered;
}
