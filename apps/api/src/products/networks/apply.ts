import type { Schemas } from "@kule/contract/schemas";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { type JobRow, lockOpenJobs, queueJob } from "../../platform/jobs.ts";

/** On whose behalf the change is applied to the region's edge. */
export type Requester = { readonly requestedBy: Schemas["Actor"]; readonly requestId: string };

export function askedBy({ caller, id }: ApiRequest): Requester {
  return { requestedBy: caller.actor, requestId: id };
}

/**
 * Queues the job that applies a network to the region's edge, after this transaction has changed it, its
 * subnets or its gateway. Call it once, after the last change, with the network's row locked.
 *
 * A job's payload is rendered when it is claimed, so a queued job applies this change as well. A running one
 * does not: the next is queued behind it.
 *
 * @returns the job that applies the change; null in a region without an edge, where the wanted state is the
 * present one
 */
export async function requestNetworkApply(
  tx: Tx,
  organisationId: string,
  networkId: string,
  by: Requester,
): Promise<JobRow | null> {
  const network = await tx
    .selectFrom("network")
    .innerJoin("region", "region.slug", "network.region")
    .select(["network.region", "network.on_edge", "region.has_edge"])
    .where("network.organisation_id", "=", organisationId)
    .where("network.id", "=", networkId)
    .executeTakeFirstOrThrow();
  const next = sql<number>`generation + 1`;
  // An edge that was removed from the region file may still hold the network.
  const isTold = network.has_edge || network.on_edge;
  const told = {
    on_edge: true,
    status: sql<string>`case when status = 'deleting' then 'deleting'
      when observed_generation = 0 then 'provisioning' else 'updating' end`,
    status_code: null,
    status_message: null,
    status_job_id: null,
  };
  const { generation } = await tx
    .updateTable("network")
    .set({
      generation: next,
      edge_generation: next,
      ...(isTold ? told : { observed_generation: next }),
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", networkId)
    .returning("generation")
    .executeTakeFirstOrThrow();
  if (!isTold) return null;
  await sendSubnets(tx, organisationId, networkId, generation);
  return applyAgain(tx, { id: networkId, organisation_id: organisationId, region: network.region }, by);
}

/** The job that brings the network to the edge as it is wanted; one that waits already is that job. */
export async function applyAgain(
  tx: Tx,
  network: { readonly id: string; readonly organisation_id: string; readonly region: string },
  by: Requester,
): Promise<JobRow> {
  const { queued } = await lockOpenJobs(tx, network.organisation_id, network.id);
  if (queued !== null) return queued;
  return queueJob(tx, {
    kind: "NetworkApply",
    organisationId: network.organisation_id,
    region: network.region,
    resourceType: "network",
    resourceId: network.id,
    ...by,
  });
}

/**
 * Subnets that are not applied to the edge yet belong to this generation, and so do those whose job failed.
 */
async function sendSubnets(
  tx: Tx,
  organisationId: string,
  networkId: string,
  generation: number,
): Promise<void> {
  await tx
    .updateTable("subnet")
    .set({
      edge_generation: generation,
      status: sql<string>`case when status = 'deleting' then 'deleting' else 'provisioning' end`,
      observed_generation: 0,
    })
    .where("organisation_id", "=", organisationId)
    .where("network_id", "=", networkId)
    .where((is) => is.or([is("edge_generation", "=", 0), is("status", "=", "error")]))
    .execute();
}
