import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import { lockOpenJobs } from "../../platform/jobs.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { refuseUnless } from "./domain-refusals.ts";
import { changeDomainRow, type DomainDetails, type DomainRow, lockDomain, writtenDomain } from "./store.ts";
import { viewDomain } from "./view.ts";

/**
 * Takes a domain out of the removal buffer; it was served all the time. The purge takes the same row lock: the first one
 * wins, and the other finds the domain in a state that refuses it.
 */
export async function cancelDomainDeletion(
  _request: ApiRequest<"cancelDomainDeletion">,
  tx: Tx,
  found: DomainDetails,
): Promise<Outcome> {
  const domain = await lockDomain(tx, found.organisation_id, found.id);
  if (domain === null) throw new NotFound();
  refuseUnless("cancel_deletion", domain);
  const { queued, running } = await lockOpenJobs(tx, domain.organisation_id, domain.id);
  await changeDomainRow(tx, domain.organisation_id, domain.id, {
    status: statusOutside(domain, queued !== null || running !== null),
    deletion_requested_at: null,
    purge_at: null,
  });
  const row = await writtenDomain(tx, domain.organisation_id, domain.id);
  return { reply: reply(200, viewDomain(row)), resource: row.id };
}

/** What it would be now, had it never been deleted. */
function statusOutside(domain: DomainRow, hasOpenJob: boolean): string {
  if (hasOpenJob) return domain.observed_generation === 0 ? "provisioning" : "updating";
  return domain.status_code === null ? "active" : "error";
}
