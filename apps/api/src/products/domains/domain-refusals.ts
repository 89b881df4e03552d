import type { Refusal } from "@kule/rules/decision";
import { type DomainAction, decideDomainAction, dependentsRefusal } from "@kule/rules/domains/lifecycle";
import type { OwnershipRule } from "@kule/rules/domains/ownership";
import type { Problem } from "@kule/rules/domains/problem";
import { domainNotProven, domainTaken, nameTaken, notConfigured, quotaExceeded } from "@kule/rules/refusals";
import type { DnsInstallation } from "../../platform/dns-installation.ts";
import { Conflict } from "../../platform/errors.ts";
import type { DomainRow } from "./store.ts";
import { stateOfDomain } from "./view.ts";

/** @throws Conflict when the action is not possible now */
export function refuseUnless(action: DomainAction, domain: DomainRow, hasOpenJob = false): void {
  const refusal = decideDomainAction(action, stateOfDomain(domain, hasOpenJob));
  if (refusal === null) return;
  throw new Conflict(refusal, refusal.code === "invalid_state" ? domain.status : undefined);
}

/** @throws Conflict for a domain that others inside of it are the organisation's by */
export function refuseWhileKeeping(
  domain: Pick<DomainRow, "id" | "name">,
  dependents: readonly { readonly name: string }[],
): void {
  const refusal = dependentsRefusal(
    domain,
    dependents.map(({ name }) => name),
  );
  if (refusal !== null) throw new Conflict(refusal);
}

/** @throws Conflict in an installation that serves no domains */
export function requireDns(dns: DnsInstallation | null): DnsInstallation {
  if (dns !== null) return dns;
  throw new Conflict(
    notConfigured("dns_configured", "this installation serves no domains", {
      fix: "An operator names the file of the DNS provider in KULE_DNS_FILE",
    }),
  );
}

/**
 * What the rules of ownership say, as the API refuses it.
 *
 * @param own the organisation's domain that it is about, or its domain of the name; never another organisation's
 * @param seen by the check that did not prove it
 */
export function ownershipRefusal(
  { rule, message, fix }: Problem<OwnershipRule>,
  own: string | null,
  seen: string | null = null,
): Refusal {
  const around = { resource: own, fix };
  switch (rule) {
    case "already_yours":
      return nameTaken("domain_name_free", message, {
        resource: own,
        fix: own === null ? fix : `GET /domains/${own}`,
      });
    case "name_taken":
    case "parent_taken":
      return domainTaken("domain_name_free", message, around);
    case "too_many_pending":
      return quotaExceeded("domains_pending_few", message, around);
    case "not_proven":
    case "expired":
      return domainNotProven("domain_proven", seen === null ? message : `${message}. ${seen}`, around);
  }
}
