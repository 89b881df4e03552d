import { type Queryable, runChecks } from "./run-checks.ts";
import type { Violation } from "./violation.ts";

/** Every violation in the database, as the caller's transaction sees it. */
export async function findViolations(client: Queryable): Promise<Violation[]> {
  const results = await runChecks(client, { subjectsPerCheck: 10_000 });
  return results.flatMap(({ invariant, check, subjects }) =>
    subjects.map((subject) => ({ invariant, check, subject })),
  );
}
