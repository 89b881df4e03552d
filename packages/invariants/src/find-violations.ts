import { databaseChecks } from "./database-checks.ts";
import type { Violation } from "./violation.ts";

/** What of a Postgres client the checks need. */
export type Queryable = {
  query(sql: string): Promise<{ rows: { subject: string }[] }>;
};

/** Runs every check within the caller's transaction, which should be one snapshot. */
export async function findViolations(client: Queryable): Promise<Violation[]> {
  const violations: Violation[] = [];
  for (const { invariant, check, sql } of databaseChecks) {
    const { rows } = await client.query(sql);
    violations.push(...rows.map(({ subject }) => ({ invariant, check, subject })));
  }
  return violations;
}
