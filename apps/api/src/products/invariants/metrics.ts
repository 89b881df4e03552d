import { databaseChecks } from "@kule/invariants/database-checks";
import { Gauge } from "prom-client";
import type { Deps } from "../../platform/deps.ts";
import { scrapeReading } from "../../platform/scrape-reading.ts";
import { findReport, type StoredReport } from "./store.ts";
import { completeSince } from "./view.ts";

const invariants = [...new Set(databaseChecks.map(({ invariant }) => invariant))];

/**
 * Adds what the worker found to the process' metrics. Every replica reports the same values, read from the
 * last report at the scrape; while the database is unreachable the last known values stay, and the time of
 * the last check shows their age.
 */
export function registerInvariantMetrics({ metrics: { registry }, db, log }: Deps): void {
  let known: StoredReport | null = null;
  const read = scrapeReading(log, "the invariants' report", () => findReport(db));
  async function refresh(): Promise<void> {
    known = (await read()) ?? known;
  }

  new Gauge({
    name: "kule_invariant_violations",
    help: "Broken promises in the database, by invariant, when the worker last looked",
    labelNames: ["invariant"],
    registers: [registry],
    async collect() {
      await refresh();
      if (known === null) return;
      for (const invariant of invariants) {
        const checks = known.checks.filter((check) => check.invariant === invariant);
        this.set(
          { invariant },
          checks.reduce((sum, { violations }) => sum + violations, 0),
        );
      }
    },
  });
  const gauge = (name: string, help: string, readValue: (report: StoredReport) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        await refresh();
        this.set(known === null ? 0 : readValue(known));
      },
    });
  gauge(
    "kule_invariants_checked_timestamp_seconds",
    "When the worker last held the database against its invariants; 0: never",
    ({ checked_at }) => checked_at.getTime() / 1000,
  );
  gauge(
    "kule_invariants_complete_timestamp_seconds",
    "Everything that the checks read has been read since then; 0: not yet everything, or a check fails",
    (report) => Date.parse(completeSince(report) ?? "1970-01-01T00:00:00Z") / 1000,
  );
  gauge(
    "kule_invariants_check_duration_seconds",
    "How long the last check of the invariants took",
    ({ duration_ms }) => duration_ms / 1000,
  );
  gauge(
    "kule_invariant_checks_failed",
    "Checks that could not be carried out in the last look",
    ({ failures }) => failures.length,
  );
}
