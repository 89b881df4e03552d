import { poolsAreCounted, quotasAreCounted, usageIsBalanced } from "@kule/invariants/records";
import { type Finding, type Pass, type PassResult, runPass } from "@kule/invariants/run-pass";
import type { Violation } from "@kule/invariants/violation";
import type { ClientBase } from "pg";
import type { Deps } from "../platform/deps.ts";
import type { CheckSummary, OpenViolation, StoredReport } from "../products/invariants/index.ts";

/** A check that takes longer is reported as such and does not delay the others. */
const longestCheckSeconds = 60;
const namedPerCheck = 100;

type Failure = StoredReport["failures"][number];
type CheckRun = Pass & { readonly durationMs: number; readonly failures: readonly Failure[] };

/**
 * One pass over the invariants of the database: stores the findings for the API, and where the next pass goes on, and logs
 * each violation when it is first seen and when it is gone. Both are logged as errors, so that an operator who got the first also
 * gets the second.
 *
 * @param owner a connection of the owner of all tables, outside of a transaction
 */
export async function checkInvariants(
  { log, settings, notifications }: Pick<Deps, "log" | "settings" | "notifications">,
  owner: ClientBase,
): Promise<void> {
  const intervalSeconds = settings.invariantsEveryMinutes * 60;
  const result = await checkDatabase(owner, intervalSeconds);
  for (const failure of result.failures) log.error(failure, "a check of the invariants failed");
  const change = await inTransaction(owner, "begin", () => storeReport(owner, result, intervalSeconds));
  await recount(log, owner, result.results);
  for (const violation of change.appeared) log.error(violation, "an invariant is violated");
  for (const violation of change.gone) log.error(violation, "an invariant holds again");
  notifications.publish([{ channel: "kule_invariants", payload: result.startedAt }]);
}

/** The report keeps the violations until the next check; what refuses or admits a request is right at once. */
async function recount(log: Deps["log"], owner: ClientBase, results: readonly PassResult[]): Promise<void> {
  for (const organisation of subjectsOf(results, quotasAreCounted)) {
    await owner.query("select kule_recount_quotas(p_organisation_id => $1)", [organisation]);
    log.error({ organisation }, "quotas were counted again");
  }
  for (const organisation of subjectsOf(results, usageIsBalanced)) {
    await owner.query("select kule_rebalance_usage(p_organisation_id => $1)", [organisation]);
    log.error({ organisation }, "the balances of usage were computed again");
  }
  for (const pool of subjectsOf(results, poolsAreCounted)) {
    await owner.query("select kule_recount_public_addresses(p_pool_id => $1)", [pool]);
    log.error({ pool }, "the addresses of an IP pool were counted again");
  }
}

/** What the violations of a check begin with. */
function subjectsOf(results: readonly PassResult[], check: string): ReadonlySet<string> {
  const violations = results.flatMap((result) => (result.check === check ? result.findings : []));
  return new Set(violations.map(({ subject }) => subject.split(" ", 1)[0] ?? ""));
}

async function checkDatabase(owner: ClientBase, intervalSeconds: number): Promise<CheckRun> {
  const begunAt = performance.now();
  const { rows } = await owner.query<{
    progress: Pass["progress"];
    findings: readonly Finding[];
    checked_at: string;
  }>("select progress, findings, checked_at::text from invariant_report");
  const [last] = rows;
  const failures: Failure[] = [];
  const pass = await runPass(owner, {
    progress: last?.progress ?? {},
    open: last?.findings ?? [],
    lastPassAt: last?.checked_at ?? null,
    intervalSeconds,
    timeoutSeconds: longestCheckSeconds,
    onFailure: ({ invariant, check }, error) => {
      failures.push({ invariant, check, reason: reasonOf(error) });
    },
  });
  return { ...pass, durationMs: performance.now() - begunAt, failures };
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
    findings: Finding[];
    checks: CheckSummary[];
    later: boolean;
  }>("select violations, findings, checks, checked_at > $1::timestamptz as later from invariant_report", [
    result.startedAt,
  ]);
  const [last] = rows;
  if (last?.later === true) return { appeared: [], gone: [] };

  const before = last?.violations ?? [];
  const failed = new Set(result.failures.map(({ check }) => check));
  const isUnknown = ({ check }: Violation) => failed.has(check);
  const since = new Map(before.map((violation) => [keyOf(violation), violation.since]));
  const at = new Date(result.startedAt).toISOString();
  const seen = result.results.flatMap(({ findings }) =>
    findings
      .toSorted((one, other) => (one.subject < other.subject ? -1 : 1))
      .slice(0, namedPerCheck)
      .map(({ invariant, check, subject }) => ({ invariant, check, subject })),
  );
  const violations: OpenViolation[] = [
    ...seen.map((violation) => ({ ...violation, since: since.get(keyOf(violation)) ?? at })),
    // The findings of a failed check are those of its last run.
    ...before.filter(isUnknown),
  ];
  const findings: Finding[] = [
    ...result.results.flatMap((each) => each.findings),
    ...(last?.findings ?? []).filter(isUnknown),
  ];
  const checks: CheckSummary[] = [
    ...result.results.map(({ invariant, check, findings: found, durationMs, completeSince }) => ({
      ...{ invariant, check, violations: found.length, duration_ms: Math.round(durationMs) },
      complete_since: completeSince === null ? null : new Date(completeSince).toISOString(),
    })),
    ...(last?.checks ?? []).filter(({ check, violations: n }) => failed.has(check) && n > 0),
  ];
  await owner.query(
    `insert into invariant_report
       (checked_at, duration_ms, interval_seconds, checks, violations, failures, progress, findings)
     values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (singleton) do update
        set checked_at = excluded.checked_at, duration_ms = excluded.duration_ms,
            interval_seconds = excluded.interval_seconds, checks = excluded.checks,
            violations = excluded.violations, failures = excluded.failures,
            progress = excluded.progress, findings = excluded.findings`,
    [
      result.startedAt,
      Math.round(result.durationMs),
      intervalSeconds,
      JSON.stringify(checks),
      JSON.stringify(violations),
      JSON.stringify(result.failures),
      JSON.stringify(result.progress),
      JSON.stringify(findings),
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
