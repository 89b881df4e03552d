import type { Refusal } from "../decision.ts";
import type { ConflictCode } from "../preconditions.ts";
import {
  domainNotProven,
  domainTaken,
  inUse,
  invalidState,
  resourceDeleting,
  resourceProtected,
} from "../refusals.ts";

/** `pending`, `expired` and `lost` are not proven; in all others the domain is the organisation's. */
export type DomainStatus =
  | "pending"
  | "expired"
  | "lost"
  | "provisioning"
  | "active"
  | "updating"
  | "error"
  | "pending_deletion"
  | "deleting";

export type DomainAction =
  | "verify"
  | "change"
  | "apply"
  | "set_dnssec"
  | "delete"
  | "purge"
  | "cancel_deletion";

/** What of a domain decides about actions on it. */
export type DomainState = {
  readonly id: string;
  /** Canonical. */
  readonly name: string;
  readonly status: DomainStatus;
  readonly isProtected: boolean;
  readonly hasOpenJob: boolean;
  /** What has proven it; null: nothing yet. */
  readonly verifiedBy: VerifiedBy | null;
};

/** Its TXT record, its delegation, or that its parent domain is the organisation's. */
export type VerifiedBy = "record" | "name_servers" | "parent";

export type DomainActionCode = Extract<
  ConflictCode,
  "domain_not_proven" | "domain_taken" | "invalid_state" | "resource_deleting" | "protected"
>;

/** True from its proof until the provider has it no more. */
export function isProven(status: DomainStatus): boolean {
  return status !== "pending" && status !== "expired" && status !== "lost";
}

/** Why the action is not possible now; null when it is. */
export function decideDomainAction(
  action: DomainAction,
  domain: DomainState,
): Refusal<DomainActionCode> | null {
  switch (action) {
    case "delete":
    case "purge":
      return removalRefusal(action, domain);
    case "cancel_deletion":
      return domain.status === "pending_deletion" ? null : notInBuffer(domain);
    case "verify":
      if (domain.verifiedBy === "parent") return deletingRefusal(domain);
      if (isProven(domain.status))
        return invalidState("domain_proven", `${domain.name} is proven already`, { resource: domain.id });
      return endedRefusal(domain);
    case "change":
      return endedRefusal(domain) ?? deletingRefusal(domain);
    case "apply":
    case "set_dnssec":
      return endedRefusal(domain) ?? notProvenRefusal(domain) ?? deletingRefusal(domain);
  }
}

/** Domains that are shown of those that keep a parent. */
const mostDependents = 5;

/**
 * Why a domain cannot be deleted before those inside of it.
 *
 * @param dependents names that are the organisation's by this domain alone
 */
export function dependentsRefusal(
  { id, name }: Pick<DomainState, "id" | "name">,
  dependents: readonly string[],
): Refusal<"in_use"> | null {
  if (dependents.length === 0) return null;
  const shown = dependents.slice(0, mostDependents).join(", ");
  const more = dependents.length > mostDependents ? ` and ${dependents.length - mostDependents} more` : "";
  return inUse(
    "domain_without_dependents",
    `${shown}${more} would end with ${name}, which alone proves them`,
    {
      resource: id,
      fix: `POST /domains/${dependents[0]}/verify, or delete it first`,
    },
  );
}

function removalRefusal(action: "delete" | "purge", domain: DomainState): Refusal<DomainActionCode> | null {
  if (domain.isProtected)
    return resourceProtected("domain_not_protected", `${domain.name} is protected against deletion`, {
      resource: domain.id,
      fix: `PATCH /domains/${domain.id} {"protection":{"delete":false}}`,
    });
  // One whose last job has failed may be deleted again.
  if (domain.status === "deleting") return domain.hasOpenJob ? deletingRefusal(domain) : null;
  return action === "delete" ? deletingRefusal(domain) : null;
}

function deletingRefusal({ id, name, status }: DomainState): Refusal<"resource_deleting"> | null {
  if (status === "pending_deletion")
    return resourceDeleting("domain_not_deleting", `${name} waits for its removal`, {
      resource: id,
      fix: `POST /domains/${id}/cancel-deletion`,
    });
  if (status === "deleting")
    return resourceDeleting("domain_not_deleting", `${name} is being deleted`, { resource: id });
  return null;
}

/** A domain that can only be deleted. */
function endedRefusal({ id, name, status }: DomainState): Refusal<DomainActionCode> | null {
  if (status === "expired")
    return domainNotProven("domain_proven", `${name} was not proven within 7 days`, {
      resource: id,
      fix: `POST /domains {"name":"${name}"} to begin again`,
    });
  if (status === "lost")
    return domainTaken("domain_name_free", `Another organisation has proven ${name}, or its parent domain`, {
      resource: id,
      fix: `If it is yours: POST /domains {"name":"${name}"} to begin again, and enter its name servers where it is registered`,
    });
  return null;
}

function notProvenRefusal({ id, name, status }: DomainState): Refusal<"domain_not_proven"> | null {
  if (status !== "pending") return null;
  return domainNotProven("domain_proven", `${name} is not proven yet`, {
    resource: id,
    fix: `POST /domains/${id}/verify`,
  });
}

function notInBuffer({ id, name }: DomainState): Refusal<"invalid_state"> {
  return invalidState("domain_in_removal_buffer", `${name} does not wait for its removal`, { resource: id });
}
