import type { Schemas } from "@kule/contract/schemas";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";
import { type JobRow, lockOpenJobs, queueJob } from "../../platform/jobs.ts";
import type { DomainRow } from "./store.ts";

/** On whose behalf the change is brought to the name servers. */
export type Requester = { readonly requestedBy: Schemas["Actor"]; readonly requestId: string };

export function askedBy({ caller, id }: ApiRequest): Requester {
  return { requestedBy: caller.actor, requestId: id };
}

/** Kule itself, for the reason that `name` gives. */
export function bySystem(name: string): Requester {
  return { requestedBy: { type: "system", id: null, name }, requestId: newId("req") };
}

type AppliedDomain = Pick<DomainRow, "id" | "organisation_id">;

/**
 * Queues the job that brings a domain to its name servers, after this transaction has changed it or its record sets. Call it
 * once, after the last change, with the domain's row locked.
 *
 * A job's payload is rendered when it is claimed, so a queued job applies this change as well. A running one does not: the
 * next is queued behind it.
 *
 * @returns the job that applies the change; null while the domain is not proven, and nobody serves it
 */
export async function requestDomainApply(
  tx: Tx,
  { id, organisation_id: organisationId }: AppliedDomain,
  by: Requester,
): Promise<JobRow | null> {
  const { is_verified } = await tx
    .updateTable("domain")
    .set({
      generation: sql<number>`generation + 1`,
      status: sql<string>`case when not is_verified or status in ('pending_deletion', 'deleting') then status
        when observed_generation = 0 then 'provisioning' else 'updating' end`,
      status_code: sql<string | null>`case when is_verified then null else status_code end`,
      status_message: sql<string | null>`case when is_verified then null else status_message end`,
      status_job_id: sql<string | null>`case when is_verified then null else status_job_id end`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .returning("is_verified")
    .executeTakeFirstOrThrow();
  return is_verified ? applyAgain(tx, { id, organisation_id: organisationId }, by) : null;
}

/** The job that brings the domain to its name servers as it is wanted; one that waits already is that job. */
export async function applyAgain(tx: Tx, domain: AppliedDomain, by: Requester): Promise<JobRow> {
  const { queued } = await lockOpenJobs(tx, domain.organisation_id, domain.id);
  if (queued !== null) return queued;
  return queueJob(tx, {
    kind: "DomainApply",
    organisationId: domain.organisation_id,
    region: null,
    resourceType: "domain",
    resourceId: domain.id,
    ...by,
  });
}
