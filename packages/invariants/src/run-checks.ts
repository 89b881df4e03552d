import type { Check } from "./check.ts";
import { databaseChecks } from "./database-checks.ts";
import { everything, limitedTo } from "./keys.ts";

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

/** Runs every check on all rows, within the caller's transaction. */
export async function runChecks(client: Queryable, { subjectsPerCheck }: Limits): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const { invariant, check, sql } of databaseChecks) {
    const startedAt = performance.now();
    const { rows } = await client.query(
      `select count(*) over ()::integer as count, subject from (${limitedTo(sql, everything)}) found
        order by subject limit ${subjectsPerCheck}`,
    );
    results.push({
      ...{ invariant, check },
      count: rows[0]?.count ?? 0,
      subjects: rows.map((row) => row.subject as string),
      durationMs: performance.now() - startedAt,
    });
  }
  return results;
}
