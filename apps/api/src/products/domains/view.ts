import { domainToUnicode } from "node:url";
import type { Schemas } from "@kule/contract/schemas";
import { claimLifetimeMs } from "@kule/rules/domains/claim";
import {
  type DomainAction,
  type DomainState,
  type DomainStatus,
  decideDomainAction,
  type VerifiedBy,
} from "@kule/rules/domains/lifecycle";
import { verificationRecord } from "@kule/rules/domains/ownership-proof";
import type { DomainDetails, DomainRow } from "./store.ts";

/** A domain as the contract shows it. */
export function viewDomain(row: DomainDetails): Schemas["Domain"] {
  return {
    id: row.id,
    name: row.name,
    unicode_name: domainToUnicode(row.name) || row.name,
    status: row.status as DomainStatus,
    status_reason:
      row.status_code === null
        ? null
        : { code: row.status_code, message: row.status_message ?? "", job_id: row.status_job_id },
    verification: viewVerification(row),
    verified_by: row.verified_by as VerifiedBy | null,
    kept_delegations: row.kept_delegations,
    name_servers: row.name_servers,
    delegation: {
      state: row.delegation_state as Schemas["Domain"]["delegation"]["state"],
      observed: row.delegation_observed,
      checked_at: row.delegation_checked_at?.toISOString() ?? null,
    },
    ttl: row.default_ttl_seconds,
    serial: row.serial === null ? null : Number(row.serial),
    record_count: row.record_count,
    record_limit: row.record_limit,
    dnssec: { enabled: row.dnssec_enabled, ds: row.ds_records },
    drift: row.drift as Schemas["Domain"]["drift"],
    deletion:
      row.deletion_requested_at === null || row.purge_at === null
        ? null
        : { requested_at: row.deletion_requested_at.toISOString(), purge_at: row.purge_at.toISOString() },
    protection: { delete: row.protect_delete },
    actions: viewActions(stateOfDomain(row, row.job_id !== null)),
    job_id: row.job_id,
    description: row.description,
    labels: row.labels as Schemas["Labels"],
    generation: row.generation,
    observed_generation: row.observed_generation,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

/** What of the row decides about actions. */
export function stateOfDomain(
  row: Pick<DomainRow, "id" | "name" | "status" | "protect_delete" | "verified_by">,
  hasOpenJob: boolean,
): DomainState {
  return {
    id: row.id,
    name: row.name,
    status: row.status as DomainStatus,
    isProtected: row.protect_delete,
    hasOpenJob,
    verifiedBy: row.verified_by as VerifiedBy | null,
  };
}

function viewVerification(row: DomainRow): Schemas["Domain"]["verification"] {
  const isByParent = row.is_verified && row.verified_by === "parent";
  if (row.status !== "pending" && !isByParent) return null;
  return {
    record: verificationRecord(row.name, row.verification_token),
    name_servers: provingNameServers(row),
    expires_at: isByParent ? null : new Date(row.created_at.getTime() + claimLifetimeMs).toISOString(),
    checked_at: row.verification_checked_at?.toISOString() ?? null,
    seen: row.verification_seen,
  };
}

/** Those of its name servers that no other domain has: a delegation to one of them proves the domain. */
export function provingNameServers({
  name_servers,
  label,
}: Pick<DomainRow, "name_servers" | "label">): string[] {
  return name_servers.filter((name) => name.startsWith(`${label}.`));
}

const shownActions = ["verify", "change", "apply", "set_dnssec", "delete", "cancel_deletion"] as const;

function viewActions(state: DomainState): Schemas["Domain"]["actions"] {
  const view = (action: DomainAction): Schemas["ActionState"] => {
    const refusal = decideDomainAction(action, state);
    return refusal === null
      ? { allowed: true, code: null, reason: null }
      : { allowed: false, code: refusal.code, reason: refusal.message };
  };
  return Object.fromEntries(
    shownActions.map((action) => [action, view(action)]),
  ) as Schemas["Domain"]["actions"];
}
