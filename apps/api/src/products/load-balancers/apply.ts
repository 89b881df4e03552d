import type { Schemas } from "@kule/contract/schemas";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";
import { type JobRow, lockOpenJobs, queueJob } from "../../platform/jobs.ts";
import type { Requester } from "../networks/index.ts";
import { wantedSince, wantedThumbprint } from "./challenge-answer.ts";
import type { LoadBalancerRow } from "./store.ts";
import { wantedDigest } from "./wanted-digest.ts";

export type Applied = Pick<LoadBalancerRow, "id" | "organisation_id" | "region" | "network_id">;

/** Kule itself, for the reason that `name` gives. */
export function bySystem(name: string): Requester {
  const requestedBy: Schemas["Actor"] = { type: "system", id: null, name };
  return { requestedBy, requestId: newId("req") };
}

/**
 * Makes what this transaction has changed a new generation, and queues the job that brings it to the machines. Call it once,
 * after the last change, with the load balancer's row locked.
 *
 * A job's payload is rendered when it is claimed, so a queued job brings this change as well. A running one does not: the
 * next is queued behind it.
 *
 * @returns the job; null while no machine has been created, whose creation brings the change then
 */
export async function requestApply(tx: Tx, loadBalancer: Applied, by: Requester): Promise<JobRow | null> {
  const digest = await wantedDigest(tx, loadBalancer);
  await tx
    .updateTable("load_balancer")
    .set({
      generation: sql<number>`generation + 1`,
      wanted_generation: sql<number>`generation + 1`,
      targets_digest: digest,
      acme_thumbprint: wantedThumbprint,
      acme_generation: wantedSince,
      failure: null,
      failure_job_id: null,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", loadBalancer.organisation_id)
    .where("id", "=", loadBalancer.id)
    .execute();
  return applyAgain(tx, loadBalancer, by);
}

/** The job that brings the load balancer to its machines as it is wanted; one that waits already is that job. */
export async function applyAgain(
  tx: Tx,
  { id, organisation_id: organisationId, region }: Pick<Applied, "id" | "organisation_id" | "region">,
  by: Requester,
): Promise<JobRow | null> {
  if (!(await hasMachine(tx, organisationId, id))) return null;
  const { queued } = await lockOpenJobs(tx, organisationId, id);
  if (queued !== null) return queued;
  return queueJob(tx, {
    kind: "LoadBalancerApply",
    organisationId,
    region,
    resourceType: "load_balancer",
    resourceId: id,
    ...by,
  });
}

/** One whose VM exists. */
async function hasMachine(tx: Tx, organisationId: string, id: string): Promise<boolean> {
  const row = await tx
    .selectFrom("load_balancer_machine as machine")
    .innerJoin("server", (join) =>
      join
        .onRef("server.organisation_id", "=", "machine.organisation_id")
        .onRef("server.id", "=", "machine.server_id"),
    )
    .select("machine.slot")
    .where("machine.organisation_id", "=", organisationId)
    .where("machine.load_balancer_id", "=", id)
    .where("server.observed_generation", ">", 0)
    .where("server.status", "not in", ["pending_deletion", "deleting", "deleted"])
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
