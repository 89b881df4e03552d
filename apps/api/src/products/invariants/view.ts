import type { Schemas } from "@kule/contract/schemas";
import { notCheckedInDatabase } from "@kule/invariants/not-checked";
import type { StoredReport } from "./store.ts";

/** When the last of the checks had read everything; null: one has not yet, or could not be carried out. */
export function completeSince({ checks, failures }: StoredReport): string | null {
  const all = checks.map(({ complete_since }) => complete_since);
  if (failures.length > 0 || all.length === 0 || all.includes(null)) return null;
  return all.reduce((oldest, each) => (oldest !== null && each !== null && each < oldest ? each : oldest));
}

/** A report as the contract shows it; null for a worker without a scan so far. */
export function viewReport(report: StoredReport | null): Schemas["InvariantReport"] {
  const neverChecked = notCheckedInDatabase.map(({ invariant, reason }) => ({ invariant, reason }));
  if (report === null)
    return {
      checked_at: null,
      age_seconds: null,
      interval_seconds: null,
      complete_since: null,
      stale: true,
      duration_ms: null,
      violations_total: 0,
      violations: [],
      checked: [],
      not_checked: neverChecked,
    };
  return {
    checked_at: report.checked_at.toISOString(),
    age_seconds: Math.floor(report.age_seconds),
    interval_seconds: report.interval_seconds,
    complete_since: completeSince(report),
    stale: report.age_seconds > 2 * report.interval_seconds,
    duration_ms: report.duration_ms,
    violations_total: report.checks.reduce((sum, { violations }) => sum + violations, 0),
    violations: [...report.violations],
    checked: [...report.checks],
    not_checked: [
      ...report.failures.map(({ invariant, check, reason }) => ({
        invariant,
        reason: `${check}: ${reason}`,
      })),
      ...neverChecked,
    ],
  };
}
