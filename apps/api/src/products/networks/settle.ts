import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { queueFilterRefresh } from "../../platform/filter-refresh.ts";
import { newId } from "../../platform/ids.ts";
import type { JobEnd, JobHandler } from "../../platform/job-handler.ts";
import { type JobRow, lockOpenJobs } from "../../platform/jobs.ts";
import type { Settings } from "../../platform/settings.ts";
import { applyAgain } from "./apply.ts";
import type { NetworkHooks } from "./hooks.ts";
import { renderNetworkPayload } from "./payload.ts";
import { deleteNetworkRow, lockNetwork, type NetworkRow } from "./store.ts";

/** The job handler for jobs of networks. */
export function networkJobs(hooks: readonly NetworkHooks[]): JobHandler {
  return {
    kinds: ["NetworkApply"],
    lockResource: async (tx, job) => {
      for (const { lockBefore } of hooks)
        await lockBefore?.(tx, { id: job.resource_id, organisation_id: job.organisation_id });
      await lockNetwork(tx, job.organisation_id, job.resource_id);
    },
    renderPayload: (tx, job) => renderNetworkPayload(tx, job, hooks),
    settle: (tx, job, end, settings) => settleNetworkJob(tx, job, end, settings, hooks),
    preempt: () => Promise.resolve(),
    retried: (tx, job) => retried(tx, job, hooks),
    replaceVmid: () => Promise.resolve(false),
  };
}

/**
 * Records what the end of a job means for its network. Only its agent's report decides which generation the
 * edge has. Only then is a subnet's VLAN free, and a network that is being deleted gone.
 */
async function settleNetworkJob(
  tx: Tx,
  job: JobRow,
  end: JobEnd,
  settings: Settings,
  hooks: readonly NetworkHooks[],
): Promise<void> {
  const network = await lockNetwork(tx, job.organisation_id, job.resource_id);
  if (network === null) throw new Error(`job ${job.id} has no network to settle`);
  const { queued } = await lockOpenJobs(tx, network.organisation_id, network.id);
  const applied = end.status === "succeeded" ? (end.networkGeneration ?? null) : null;
  if (applied === null) {
    // The job that is queued behind it applies all of it.
    if (queued !== null) return;
    await fail(tx, network, job, end);
    for (const { failed } of hooks) await failed?.(tx, network, job, end);
    return;
  }
  // Before its subnets: one that a gateway has served goes after that.
  for (const hook of hooks) await hook.applied?.(tx, network, applied, job, settings);
  await settleSubnets(tx, network, applied);
  if (applied < network.edge_generation) {
    await observe(tx, network, { observed_generation: Math.max(network.observed_generation, applied) });
    if (queued === null)
      await applyAgain(tx, network, {
        requestedBy: { type: "system", id: null, name: `after ${job.id}` },
        requestId: newId("req"),
      });
    return;
  }
  if (network.status === "deleting") {
    await deleteNetworkRow(tx, network.organisation_id, network.id);
    return;
  }
  // Another change is pending: it was requested while this job ran.
  if (queued !== null) return observe(tx, network, { observed_generation: network.generation });
  await observe(tx, network, {
    observed_generation: network.generation,
    status: "active",
    status_code: null,
    status_message: null,
    status_job_id: null,
  });
}

/** Subnets that the edge has are ready, and those that it has removed are gone. */
async function settleSubnets(tx: Tx, network: NetworkRow, applied: number): Promise<void> {
  const { organisation_id: organisationId, id, region } = network;
  await tx
    .updateTable("subnet")
    .set({ status: "active", observed_generation: sql<number>`generation` })
    .where("organisation_id", "=", organisationId)
    .where("network_id", "=", id)
    .where("edge_generation", "<=", applied)
    .where("status", "in", ["provisioning", "updating", "error"])
    .execute();
  const { numDeletedRows } = await tx
    .deleteFrom("subnet")
    .where("organisation_id", "=", organisationId)
    .where("network_id", "=", id)
    .where("edge_generation", "<=", applied)
    .where("status", "=", "deleting")
    .executeTakeFirst();
  // A rule may be about the whole network.
  if (numDeletedRows > 0n) await queueFilterRefresh(tx, organisationId, region);
}

type Observation = Partial<
  Pick<NetworkRow, "status" | "observed_generation" | "status_code" | "status_message" | "status_job_id">
>;

async function observe(tx: Tx, network: NetworkRow, changes: Observation): Promise<void> {
  await tx
    .updateTable("network")
    .set({ ...changes, applied_at: sql<Date>`clock_timestamp()`, updated_at: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", network.organisation_id)
    .where("id", "=", network.id)
    .execute();
}

/** What was being deleted stays so until a job removes it. */
async function fail(tx: Tx, network: NetworkRow, job: JobRow, end: JobEnd): Promise<void> {
  await tx
    .updateTable("network")
    .set({
      status: network.status === "deleting" ? "deleting" : "error",
      status_code: "apply_failed",
      status_message: end.message,
      status_job_id: job.id,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", network.organisation_id)
    .where("id", "=", network.id)
    .execute();
  await tx
    .updateTable("subnet")
    .set({ status: "error" })
    .where("organisation_id", "=", network.organisation_id)
    .where("network_id", "=", network.id)
    .where("status", "in", ["provisioning", "updating"])
    .execute();
}

/** The job that had failed is queued again, and its changes are pending. */
async function retried(tx: Tx, job: JobRow, hooks: readonly NetworkHooks[]): Promise<void> {
  await tx
    .updateTable("network")
    .set({
      status: sql<string>`case when status = 'deleting' then 'deleting'
        when observed_generation = 0 then 'provisioning' else 'updating' end`,
      status_code: null,
      status_message: null,
      status_job_id: null,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", job.organisation_id)
    .where("id", "=", job.resource_id)
    .execute();
  await tx
    .updateTable("subnet")
    .set({ status: "provisioning" })
    .where("organisation_id", "=", job.organisation_id)
    .where("network_id", "=", job.resource_id)
    .where("status", "=", "error")
    .execute();
  for (const hook of hooks)
    await hook.retried?.(tx, { id: job.resource_id, organisation_id: job.organisation_id });
}
