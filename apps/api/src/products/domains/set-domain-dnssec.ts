import { findDelegation } from "@kule/dns/resolve";
import { dsAtParent } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, NotFound, Unavailable } from "../../platform/errors.ts";
import { mutation, type Outcome } from "../../platform/mutation.ts";
import type { Reply } from "../../platform/reply.ts";
import { accepted, unchanged } from "./answers.ts";
import { askedBy, requestDomainApply } from "./apply.ts";
import { refuseUnless, requireDns } from "./domain-refusals.ts";
import { type DomainDetails, lockDomain } from "./store.ts";

/** Signs a domain, or stops signing it once its parent has no DS records any more. */
export async function setDomainDnssec(
  request: ApiRequest<"setDomainDnssec">,
  found: DomainDetails,
): Promise<Reply> {
  const { enabled, force = false } = request.body;
  const needsParent = found.dnssec_enabled && !enabled && !force;
  // Asked before the transaction: it can take seconds.
  const refusal = needsParent ? await parentRefusal(request, found) : null;
  return mutation(request, (tx) => setInTransaction(request, tx, found, refusal));
}

async function setInTransaction(
  request: ApiRequest<"setDomainDnssec">,
  tx: Tx,
  found: DomainDetails,
  refusal: Conflict | Unavailable | null,
): Promise<Outcome> {
  const { enabled } = request.body;
  const domain = await lockDomain(tx, found.organisation_id, found.id);
  if (domain === null) throw new NotFound();
  request.checkGeneration(domain);
  refuseUnless("set_dnssec", domain);
  if (domain.dnssec_enabled === enabled) return unchanged(request, tx, domain);
  if (refusal !== null) throw refusal;
  await tx
    .updateTable("domain")
    .set({ dnssec_enabled: enabled })
    .where("organisation_id", "=", domain.organisation_id)
    .where("id", "=", domain.id)
    .execute();
  const job = await requestDomainApply(tx, domain, askedBy(request));
  return accepted(request, tx, domain, job, { enabled });
}

/** Why signing may not end now; null when the parent has no DS records. */
async function parentRefusal(
  request: ApiRequest,
  { id, name }: DomainDetails,
): Promise<Conflict | Unavailable | null> {
  const { resolving } = requireDns(request.deps.dns);
  const found = await findDelegation(name, resolving);
  if (found.outcome === "not-delegated") return null;
  if (found.outcome === "unresolved" || found.ds === null)
    return new Unavailable(
      `the name servers above ${name} do not say whether they have DS records; force: true does not ask them`,
      30,
    );
  if (found.ds.length === 0) return null;
  return new Conflict(
    dsAtParent("ds_not_at_parent", `The domain above ${name} still has DS records of it`, {
      resource: id,
      fix: `Remove the DS records where ${name} is registered and wait for their TTL, or PUT /domains/${id}/dnssec {"enabled":false,"force":true}`,
    }),
  );
}
