import type { JobStatus } from "@kule/rules/jobs/actions";
import { Counter, Histogram, type Registry } from "prom-client";
import type { JobRow } from "./jobs.ts";

/**
 * What this process has done with jobs: it answered their claims, recorded their ends, or took them from who was silent.
 * The values of all processes add up to the installation's.
 */
export type JobMetrics = {
  /** Call it once the claim is committed. */
  claimed(job: Pick<JobRow, "region" | "kind" | "epoch" | "run_at" | "started_at">): void;
  /**
   * Call it once the end of the attempt is committed.
   *
   * @param status of the job now: queued when it waits for its next attempt
   * @param ageSeconds since the job was requested, by Postgres' clock; only a success needs it
   */
  attemptEnded(job: Pick<JobRow, "region" | "kind">, status: JobStatus, ageSeconds?: number): void;
  leaseExpired(job: Pick<JobRow, "region">): void;
};

/** No region has this name: an underscore is in no slug. */
export const noRegion = "control_plane";

export function regionLabel(region: string | null): string {
  return region ?? noRegion;
}

export function createJobMetrics(registry: Registry): JobMetrics {
  const registers = [registry];
  const claims = new Counter({
    name: "kule_job_claims_total",
    help: "Claims that were answered with a job",
    labelNames: ["region", "kind"],
    registers,
  });
  const wait = new Histogram({
    name: "kule_job_wait_seconds",
    help: "How long jobs waited for their first claim, from when they could be claimed",
    labelNames: ["kind"],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600],
    registers,
  });
  const attempts = new Counter({
    name: "kule_job_attempts_total",
    help: "Ended attempts of jobs by outcome; requeued: the job waits for its next attempt",
    labelNames: ["region", "kind", "outcome"],
    registers,
  });
  const duration = new Histogram({
    name: "kule_job_duration_seconds",
    help: "Time from the request of a job to its success, waiting and all attempts included",
    labelNames: ["kind"],
    buckets: [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600],
    registers,
  });
  const expired = new Counter({
    name: "kule_job_leases_expired_total",
    help: "Jobs whose holder stopped reporting, and that nobody else took over in time",
    labelNames: ["region"],
    registers,
  });
  return {
    claimed({ region, kind, epoch, run_at: runAt, started_at: startedAt }) {
      claims.inc({ region: regionLabel(region), kind });
      if (epoch === 1 && startedAt !== null)
        wait.observe({ kind }, Math.max(0, startedAt.getTime() - runAt.getTime()) / 1000);
    },
    attemptEnded({ region, kind }, status, ageSeconds) {
      attempts.inc({ region: regionLabel(region), kind, outcome: status === "queued" ? "requeued" : status });
      if (status === "succeeded" && ageSeconds !== undefined)
        duration.observe({ kind }, Math.max(0, ageSeconds));
    },
    leaseExpired({ region }) {
      expired.inc({ region: regionLabel(region) });
    },
  };
}
