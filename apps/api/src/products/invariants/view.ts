import type { Schemas } from "@kule/contract/schemas";
import { notCheckedInDatabase } from "@kule/invariants/not-checked";
import type { StoredReport } from "./store.ts";

/** A report as the contract shows it; null for a worker without a scan so far. */
export function viewReport(report: StoredReport | null): Schemas["InvariantReport"] {
  const neverChecked = notCheckedInDatabase.map(({ invariant, reason }) => ({ invariant, reason }));
  if (report === null)
    return {
      checked_at: null,
      age_seconds: null,
      interval_seconds: null,
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
