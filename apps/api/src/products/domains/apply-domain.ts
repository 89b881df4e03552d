import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { accepted } from "./answers.ts";
import { askedBy, requestDomainApply } from "./apply.ts";
import { refuseUnless } from "./domain-refusals.ts";
import { type DomainDetails, lockDomain } from "./store.ts";

/** Has the provider's zone compared with ours, and what differs replaced. */
export async function applyDomain(
  request: ApiRequest<"applyDomain">,
  tx: Tx,
  found: DomainDetails,
): Promise<Outcome> {
  const domain = await lockDomain(tx, found.organisation_id, found.id);
  if (domain === null) throw new NotFound();
  refuseUnless("apply", domain);
  return accepted(request, tx, domain, await requestDomainApply(tx, domain, askedBy(request)));
}
