import { decideChange } from "@kule/rules/load-balancers/lifecycle";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { Conflict } from "../../platform/errors.ts";
import type { JobEnd, JobHandler } from "../../platform/job-handler.ts";
import { cancelQueuedJob, type JobRow, lockOpenJobs } from "../../platform/jobs.ts";
import type { Settings } from "../../platform/settings.ts";
import { applyAgain, bySystem } from "./apply.ts";
import { endIfDone } from "./end.ts";
import { observedGeneration } from "./observed.ts";
import { renderLoadBalancerPayload } from "./payload.ts";
import {
  type LoadBalancerDetails,
  type LoadBalancerRow,
  lockLoadBalancer,
  writeLoadBalancer,
  writtenLoadBalancer,
} from "./store.ts";

/** The job handler for jobs of load balancers. */
export function loadBalancerJobs(): JobHandler {
  return {
    kinds: ["LoadBalancerApply"],
    lockResource: async (tx, job) => {
      await lockLoadBalancer(tx, job.organisation_id, job.resource_id);
    },
    renderPayload: renderLoadBalancerPayload,
    settle: settleLoadBalancerJob,
    preempt: async (tx, job) => {
      const { queued } = await lockOpenJobs(tx, job.organisation_id, job.resource_id);
      if (queued !== null && queued.id !== job.id)
        cancelQueuedJob(tx, queued, "superseded", "An earlier job is tried again, and brings the same");
    },
    retried: retryLoadBalancerJob,
    replaceVmid: () => Promise.resolve(false),
  };
}

/**
 * Records what the end of a job means for its load balancer. Only the report of what each machine has decides which generation
 * is in force.
 */
async function settleLoadBalancerJob(tx: Tx, job: JobRow, end: JobEnd, settings: Settings): Promise<void> {
  const row = await lockLoadBalancer(tx, job.organisation_id, job.resource_id);
  if (row === null) throw new Error(`job ${job.id} has no load balancer to settle`);
  if (row.is_deleting) {
    await endIfDone(tx, row, { settings, job });
    return;
  }
  await noteMachines(tx, row, end);
  const now = await writtenLoadBalancer(tx, row.organisation_id, row.id);
  const observed = observedOf(now);
  const { queued } = await lockOpenJobs(tx, row.organisation_id, row.id);
  // The job that is queued behind it brings all of it.
  const hasFailed = end.status !== "succeeded" && queued === null;
  await writeLoadBalancer(tx, row, {
    observed_generation: observed,
    ...(hasFailed ? { failure: failureOf(end), failure_job_id: job.id } : {}),
    ...(end.status === "succeeded" ? { failure: null, failure_job_id: null } : {}),
  });
  const applied = end.loadBalancer?.generation ?? 0;
  if (end.status === "succeeded" && applied < row.wanted_generation && queued === null)
    await applyAgain(tx, row, bySystem(`after ${job.id}`));
}

const failureOf = ({ code }: JobEnd) =>
  code === "configuration_refused" ? ("configuration_refused" as const) : ("apply_failed" as const);

/** What every machine says that it has, never more than was wanted. One that refused has what it had before. */
async function noteMachines(tx: Tx, row: LoadBalancerRow, { loadBalancer }: JobEnd): Promise<void> {
  if (loadBalancer == null) return;
  for (const { slot, outcome } of loadBalancer.machines) {
    if (outcome !== "applied") continue;
    await tx
      .updateTable("load_balancer_machine")
      .set({
        observed_generation: sql<number>`greatest(observed_generation, ${Math.min(loadBalancer.generation, row.generation)})`,
      })
      .where("organisation_id", "=", row.organisation_id)
      .where("load_balancer_id", "=", row.id)
      .where("slot", "=", slot)
      .where("server_id", "is not", null)
      .execute();
  }
}

export const observedOf = (row: LoadBalancerDetails): number =>
  observedGeneration(
    row.machines.map((machine) => ({
      observed_generation: machine.observed_generation,
      isMissing: machine.server_id === null || machine.has_failed || machine.is_leaving,
    })),
    row,
  );

/** @throws Conflict when the load balancer is going, or gone */
async function retryLoadBalancerJob(tx: Tx, job: JobRow): Promise<void> {
  const row = await lockLoadBalancer(tx, job.organisation_id, job.resource_id);
  const refusal = decideChange({
    id: job.resource_id,
    isDeleting: row === null || row.is_deleting,
  });
  if (refusal !== null) throw new Conflict(refusal);
  await writeLoadBalancer(
    tx,
    { organisation_id: job.organisation_id, id: job.resource_id },
    {
      failure: null,
      failure_job_id: null,
    },
  );
}
