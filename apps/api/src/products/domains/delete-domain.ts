import { type DomainStatus, isProven } from "@kule/rules/domains/lifecycle";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import { lockOpenJobs } from "../../platform/jobs.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { noContent } from "../../platform/reply.ts";
import { accepted } from "./answers.ts";
import { askedBy } from "./apply.ts";
import { dependentsOf } from "./dependents.ts";
import { refuseUnless, refuseWhileKeeping } from "./domain-refusals.ts";
import { lockOwnership } from "./ownership-store.ts";
import { removeDomain } from "./remove-domain.ts";
import { changeDomainRow, type DomainDetails, deleteDomainRow, lockDomain } from "./store.ts";

/** Marks a domain for removal; one that is not proven is deleted at once. */
export async function deleteDomain(
  request: ApiRequest<"deleteDomain">,
  tx: Tx,
  found: DomainDetails,
): Promise<Outcome> {
  const { organisation_id: organisationId, id } = found;
  const isPurge = request.query.purge === true;
  // Nobody may add a domain to this one's while it is decided that it has none.
  await lockOwnership(tx);
  const domain = await lockDomain(tx, organisationId, id);
  if (domain === null) throw new NotFound();
  request.checkGeneration(domain);
  const { queued, running } = await lockOpenJobs(tx, organisationId, id);
  refuseUnless(isPurge ? "purge" : "delete", domain, queued !== null || running !== null);
  refuseWhileKeeping(domain, await dependentsOf(tx, domain, { isGone: false }));
  const details = { name: domain.name };
  if (!isProven(domain.status as DomainStatus)) {
    await deleteDomainRow(tx, organisationId, id);
    return { reply: noContent(), resource: id, details };
  }
  // One whose removal has failed goes on where it was: its removal buffer is over.
  if (isPurge || domain.status === "deleting") {
    const job = await removeDomain(tx, domain, askedBy(request));
    return accepted(request, tx, domain, job, details);
  }
  await changeDomainRow(tx, organisationId, id, {
    status: "pending_deletion",
    deletion_requested_at: sql<Date>`clock_timestamp()`,
    purge_at: sql<Date>`clock_timestamp() + make_interval(secs => ${request.deps.settings.removalBufferSeconds})`,
  });
  return accepted(request, tx, domain, null, details);
}
