import { databaseChecks } from "@kule/invariants/database-checks";
import { Gauge } from "prom-client";
import type { Deps } from "../../platform/deps.ts";
import { findReport, type StoredReport } from "./store.ts";
import { completeSince } from "./view.ts";

/** A scrape must not wait for an unreachable database: the other metrics are needed most just then. */
const readTimeoutMs = 1_000;

const invariants = [...new Set(databaseChecks.map(({ invariant }) => invariant))];

/**
 * Adds what the worker found to the process' metrics. Every replica reports the same values, read from the
 * last report at the scrape; while the database is unreachable the last known values stay, and the time of
 * the last check shows their age.
 */
export function registerInvariantMetrics({ metrics: { registry }, db, log }: Deps): void {
  let known: StoredReport | null = null;
  let reading: Promise<void> | null = null;

  /** All gauges of a scrape are collected at once, and share one reading. */
  function refresh(): Promise<void> {
    reading ??= readInTime().finally(() => {
      reading = null;
    });
    return reading;
  }
  async function readInTime(): Promise<void> {
    const late = Promise.withResolvers<null>();
    const timer = setTimeout(late.resolve, readTimeoutMs, null);
    const read = findReport(db).catch((error: unknown) => {
      log.debug({ err: error }, "the invariants' report could not be read for a scrape");
      return null;
    });
    known = (await Promise.race([read, late.promise])) ?? known;
    clearTimeout(timer);
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
    "kule_invariants_check_seconds",
    "How long the last check of the invariants took",
    ({ duration_ms }) => duration_ms / 1000,
  );
  gauge(
    "kule_invariant_checks_failed",
    "Checks that could not be carried out in the last look",
    ({ failures }) => failures.length,
  );
}
