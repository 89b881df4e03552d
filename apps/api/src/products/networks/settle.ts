import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";
import type { JobEnd, JobHandler } from "../../platform/job-handler.ts";
import { type JobRow, lockOpenJobs } from "../../platform/jobs.ts";
import type { Settings } from "../../platform/settings.ts";
import { askForRefresh } from "../firewalls/index.ts";
import { failGateway, lockBeforeNetwork, retryGateway, settleGateway } from "../gateways/settle.ts";
import { applyAgain } from "./apply.ts";
import { renderNetworkPayload } from "./payload.ts";
import { deleteNetworkRow, lockNetwork, type NetworkRow } from "./store.ts";

/** What the queue must know about jobs of networks. */
export const networkJobs: JobHandler = {
  kinds: ["NetworkApply"],
  lockResource: async (tx, job) => {
    await lockBeforeNetwork(tx, { id: job.resource_id, organisation_id: job.organisation_id });
    await lockNetwork(tx, job.organisation_id, job.resource_id);
  },
  renderPayload: renderNetworkPayload,
  settle: settleNetworkJob,
  makeWay: () => Promise.resolve(),
  retried,
  replaceVmid: () => Promise.resolve(false),
};

/**
 * Writes what the end of a job means for its network: which generation the edge holds is what its agent says, and
 * nothing else. Only then a subnet's VLAN is free, and a network that is to go is gone.
 */
export async function settleNetworkJob(tx: Tx, job: JobRow, end: JobEnd, settings: Settings): Promise<void> {
  const network = await lockNetwork(tx, job.organisation_id, job.resource_id);
  if (network === null) throw new Error(`job ${job.id} has no network to settle`);
  const { queued } = await lockOpenJobs(tx, network.organisation_id, network.id);
  const applied = end.status === "succeeded" ? (end.networkGeneration ?? null) : null;
  if (applied === null) {
    // What waits behind it brings all of it.
    if (queued !== null) return;
    await fail(tx, network, job, end);
    await failGateway(tx, network, job, end);
    return;
  }
  // Before its subnets: one that a gateway has served goes after that.
  await settleGateway(tx, network, applied, job, settings);
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
  // Something else is on its way: it waits only because somebody asked while this ran.
  if (queued !== null) return observe(tx, network, { observed_generation: network.generation });
  await observe(tx, network, {
    observed_generation: network.generation,
    status: "active",
    status_code: null,
    status_message: null,
    status_job_id: null,
  });
}

/** Those that the edge has are there, and those that it has let go are gone. */
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
  if (numDeletedRows > 0n) await askForRefresh(tx, organisationId, region);
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

/** What was to go stays on its way until a job takes it. */
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

/** The job that had failed waits again, and what it is to bring is on its way. */
async function retried(tx: Tx, job: JobRow): Promise<void> {
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
  await retryGateway(tx, { id: job.resource_id, organisation_id: job.organisation_id });
}
