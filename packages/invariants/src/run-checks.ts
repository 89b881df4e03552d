import type { Check } from "./check.ts";
import { databaseChecks } from "./database-checks.ts";

/** The part of a Postgres client that the checks need. */
export type Queryable = {
  // biome-ignore lint/suspicious/noExplicitAny: rows of any shape, as pg has them
  query(sql: string): Promise<{ rows: any[] }>;
};

export type CheckResult = Pick<Check, "invariant" | "check"> & {
  /** How many violations there are. */
  readonly count: number;
  /** The first of them by their text. */
  readonly subjects: readonly string[];
  readonly durationMs: number;
};

export type Limits = {
  /** So many violations of each check are named; all are counted. */
  readonly subjectsPerCheck: number;
};

/**
 * Runs every check within the caller's transaction, which should be one snapshot: a job that ends between two
 * of the queries is no violation.
 *
 * @param onFailure called for a check that could not be carried out; without it, the error is thrown. The
 * transaction must survive the failure (a savepoint is set).
 */
export async function runChecks(
  client: Queryable,
  { subjectsPerCheck }: Limits,
  onFailure?: (check: Check, error: unknown) => void,
): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const check of databaseChecks) {
    const startedAt = performance.now();
    try {
      if (onFailure !== undefined) await client.query("savepoint invariant");
      const { rows } = await client.query(
        `select count(*) over ()::integer as count, subject from (${check.sql}) found
          order by subject limit ${subjectsPerCheck}`,
      );
      results.push({
        invariant: check.invariant,
        check: check.check,
        count: rows[0]?.count ?? 0,
        subjects: rows.map((row) => row.subject as string),
        durationMs: performance.now() - startedAt,
      });
    } catch (error) {
      if (onFailure === undefined) throw error;
      onFailure(check, error);
      await client.query("rollback to savepoint invariant");
    }
  }
  return results;
}
