import { poolsAreCounted, quotasAreCounted } from "@kule/invariants/records";
import { type CheckResult, runChecks } from "@kule/invariants/run-checks";
import type { Violation } from "@kule/invariants/violation";
import type { ClientBase } from "pg";
import type { Deps } from "../platform/deps.ts";
import type { CheckSummary, OpenViolation, StoredReport } from "../products/invariants/index.ts";

/** A check that takes longer is reported as such and does not delay the others. */
const longestCheckSeconds = 60;
const subjectsPerCheck = 100;

type Failure = StoredReport["failures"][number];
type CheckRun = {
  readonly at: Date;
  /** The same in Postgres' text, to the microsecond. */
  readonly checkedAt: string;
  readonly durationMs: number;
  readonly results: readonly CheckResult[];
  readonly failures: readonly Failure[];
};

/**
 * Checks the database against its invariants, stores the findings for the API, and logs each violation when
 * it is first seen and when it is gone. Both are logged as errors, so that an operator who got the first also
 * gets the second.
 *
 * @param owner a connection of the owner of all tables, outside of a transaction
 */
export async function checkInvariants(
  { log, settings, notifications }: Pick<Deps, "log" | "settings" | "notifications">,
  owner: ClientBase,
): Promise<void> {
  const result = await checkDatabase(owner);
  for (const failure of result.failures) log.error(failure, "a check of the invariants failed");
  const change = await inTransaction(owner, "begin", () =>
    storeReport(owner, result, settings.invariantsEveryMinutes * 60),
  );
  await recount(log, owner, result.results);
  for (const violation of change.appeared) log.error(violation, "an invariant is violated");
  for (const violation of change.gone) log.error(violation, "an invariant holds again");
  notifications.publish([{ channel: "kule_invariants", payload: result.checkedAt }]);
}

/** The report keeps the violations until the next check; what refuses or admits a request is right at once. */
async function recount(log: Deps["log"], owner: ClientBase, results: readonly CheckResult[]): Promise<void> {
  for (const organisation of subjectsOf(results, quotasAreCounted)) {
    await owner.query("select kule_recount_quotas(p_organisation_id => $1)", [organisation]);
    log.error({ organisation }, "quotas were counted again");
  }
  for (const pool of subjectsOf(results, poolsAreCounted)) {
    await owner.query("select kule_recount_public_addresses(p_pool_id => $1)", [pool]);
    log.error({ pool }, "the addresses of an IP pool were counted again");
  }
}

/** What the violations of a check begin with. */
function subjectsOf(results: readonly CheckResult[], check: string): ReadonlySet<string> {
  const violations = results.flatMap((result) => (result.check === check ? result.subjects : []));
  return new Set(violations.map((violation) => violation.split(" ", 1)[0] ?? ""));
}

function checkDatabase(owner: ClientBase): Promise<CheckRun> {
  const startedAt = performance.now();
  const failures: Failure[] = [];
  // One snapshot: a job that ends between two of the checks is no violation.
  return inTransaction(owner, "begin isolation level repeatable read read only", async () => {
    await owner.query(`set local statement_timeout = '${longestCheckSeconds}s'`);
    const { rows } = await owner.query<{ at: Date; exact: string }>(
      "select now() as at, now()::text as exact",
    );
    const [now] = rows;
    if (now === undefined) throw new Error("Postgres did not say what time it is");
    const results = await runChecks(owner, { subjectsPerCheck }, ({ invariant, check }, error) => {
      failures.push({ invariant, check, reason: reasonOf(error) });
    });
    return { at: now.at, checkedAt: now.exact, durationMs: performance.now() - startedAt, results, failures };
  });
}

/** Never the text of an error, which may quote rows: this goes to clients. */
function reasonOf(error: unknown): string {
  const code = (error as { code?: unknown }).code;
  // Without a code it is no answer of Postgres: the connection is broken, and no query can follow on it.
  if (typeof code !== "string") throw error;
  return code === "57014"
    ? `took longer than ${longestCheckSeconds} seconds`
    : `could not be carried out (${code})`;
}

type Change = { readonly appeared: readonly Violation[]; readonly gone: readonly OpenViolation[] };

/** Stores the report unless there is a later one already, and returns the differences to the one before. */
async function storeReport(owner: ClientBase, result: CheckRun, intervalSeconds: number): Promise<Change> {
  // Of two concurrent scans the later one is stored, and each difference is found by one of them.
  await owner.query("lock table invariant_report in share row exclusive mode");
  const { rows } = await owner.query<{
    violations: OpenViolation[];
    checks: CheckSummary[];
    later: boolean;
  }>("select violations, checks, checked_at > $1::timestamptz as later from invariant_report", [
    result.checkedAt,
  ]);
  const [last] = rows;
  if (last?.later === true) return { appeared: [], gone: [] };

  const before = last?.violations ?? [];
  const failed = new Set(result.failures.map(({ check }) => check));
  const isUnknown = ({ check }: Violation) => failed.has(check);
  const since = new Map(before.map((violation) => [keyOf(violation), violation.since]));
  const seen = result.results.flatMap(({ invariant, check, subjects }) =>
    subjects.map((subject) => ({ invariant, check, subject })),
  );
  const at = result.at.toISOString();
  const violations: OpenViolation[] = [
    ...seen.map((violation) => ({ ...violation, since: since.get(keyOf(violation)) ?? at })),
    // The findings of a failed check are those of its last run.
    ...before.filter(isUnknown),
  ];
  const checks: CheckSummary[] = [
    ...result.results.map(({ invariant, check, count, durationMs }) => ({
      invariant,
      check,
      violations: count,
      duration_ms: Math.round(durationMs),
    })),
    ...(last?.checks ?? []).filter(({ check, violations: n }) => failed.has(check) && n > 0),
  ];
  await owner.query(
    `insert into invariant_report (checked_at, duration_ms, interval_seconds, checks, violations, failures)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (singleton) do update
        set checked_at = excluded.checked_at, duration_ms = excluded.duration_ms,
            interval_seconds = excluded.interval_seconds, checks = excluded.checks,
            violations = excluded.violations, failures = excluded.failures`,
    [
      result.checkedAt,
      Math.round(result.durationMs),
      intervalSeconds,
      JSON.stringify(checks),
      JSON.stringify(violations),
      JSON.stringify(result.failures),
    ],
  );
  const now = new Set(seen.map(keyOf));
  return {
    appeared: seen.filter((violation) => !since.has(keyOf(violation))),
    gone: before.filter((violation) => !now.has(keyOf(violation)) && !isUnknown(violation)),
  };
}

const keyOf = ({ invariant, check, subject }: Violation) => JSON.stringify([invariant, check, subject]);

async function inTransaction<Result>(
  owner: ClientBase,
  begin: string,
  work: () => Promise<Result>,
): Promise<Result> {
  await owner.query(begin);
  try {
    const result = await work();
    await owner.query("commit");
    return result;
  } catch (error) {
    // The connection goes back to a pool.
    await owner.query("rollback").catch(() => {});
    throw error;
  }
}
