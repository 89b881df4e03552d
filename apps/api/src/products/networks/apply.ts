import type { Schemas } from "@kule/contract/schemas";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { type JobRow, lockOpenJobs, queueJob } from "../../platform/jobs.ts";

/** Who wants the region's edge to be told. */
export type Asker = { readonly requestedBy: Schemas["Actor"]; readonly requestId: string };

export function askedBy({ caller, id }: ApiRequest): Asker {
  return { requestedBy: caller.actor, requestId: id };
}

/**
 * Has the region's edge told of a network that this transaction has changed, or whose subnets or gateway it has. Call it
 * once, after the last change, with the network's row locked.
 *
 * What a job brings is rendered when it is claimed, so one that waits brings this change as well. One that runs does not:
 * the next waits behind it.
 *
 * @returns the job that brings the change; null in a region without an edge, where what is wanted is what is there
 */
export async function requestNetworkApply(
  tx: Tx,
  organisationId: string,
  networkId: string,
  by: Asker,
): Promise<JobRow | null> {
  const network = await tx
    .selectFrom("network")
    .innerJoin("region", "region.slug", "network.region")
    .select(["network.region", "network.on_edge", "region.has_edge"])
    .where("network.organisation_id", "=", organisationId)
    .where("network.id", "=", networkId)
    .executeTakeFirstOrThrow();
  const next = sql<number>`generation + 1`;
  // An edge that the region file does not name any more may still hold what it was told.
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
  by: Asker,
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

/** Subnets that the edge has not been told of yet go with this generation, those that a job failed to bring once more. */
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
