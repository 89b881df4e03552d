import type { Schemas } from "@kule/contract/schemas";
import type { Caller } from "../../platform/caller.ts";
import { type TokenKind, tokenPrefix } from "../../platform/tokens.ts";
import type { AuditRow } from "./audit-store.ts";
import type { InvitationRow } from "./invitation-store.ts";
import type { MemberRow } from "./member-store.ts";
import type { OrganisationRow } from "./organisation-store.ts";
import type { TokenRow } from "./token-store.ts";

export function viewOrganisation(row: OrganisationRow): Schemas["Organisation"] {
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    status: row.status === "suspended" ? "suspended" : "active",
    limits: { servers: row.server_limit },
    generation: row.generation,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export function viewOrganisationRef(organisation: {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
}): Schemas["OrganisationRef"] {
  return { id: organisation.id, slug: organisation.slug, name: organisation.name };
}

export function viewMe(caller: Caller): Schemas["Me"] {
  return {
    actor: caller.actor.type as Schemas["Me"]["actor"],
    user: caller.user,
    organisation: caller.organisation === null ? null : viewOrganisationRef(caller.organisation),
    role: caller.role,
    permissions: [...caller.permissions].sort(),
    region: caller.region,
    token: {
      id: caller.tokenId,
      name: caller.tokenName,
      scopes: [...caller.scopes],
      expires_at: caller.expiresAt?.toISOString() ?? null,
    },
  };
}

/** @param caller who looks: how others sign in is for those who manage members */
export function viewMember(row: MemberRow, caller: Caller | null): Schemas["Member"] {
  return {
    id: row.id,
    user: { id: row.user_id, email: row.email, name: row.name },
    role: row.role as Schemas["Role"],
    second_factor: caller?.permissions.has("member:manage") === true ? row.second_factor : null,
    created_at: row.created_at.toISOString(),
  };
}

export function viewInvitation(row: InvitationRow): Schemas["Invitation"] {
  return {
    id: row.id,
    email: row.email,
    role: row.role as Schemas["Role"],
    status: row.status,
    invited_by: {
      type: row.actor_type as Schemas["Actor"]["type"],
      id: row.actor_id,
      name: row.actor_name,
    },
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    accepted_at: row.accepted_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
  };
}

export function viewToken(row: TokenRow): Schemas["Token"] {
  const kind = row.kind as TokenKind;
  return {
    id: row.id,
    kind,
    name: row.name,
    prefix: tokenPrefix(kind, row.id),
    role: row.role as Schemas["Role"] | null,
    scopes: row.scopes,
    region: row.region,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at?.toISOString() ?? null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
    operator_reason: row.operator_reason,
  };
}

export function viewAuditEntry(row: AuditRow): Schemas["AuditEntry"] {
  return {
    id: row.id,
    at: row.at.toISOString(),
    actor: { type: row.actor_type as Schemas["Actor"]["type"], id: row.actor_id, name: row.actor_name },
    action: row.action,
    resource: row.resource,
    organisation_id: row.organisation_id,
    outcome: row.outcome as Schemas["AuditEntry"]["outcome"],
    http_status: row.http_status,
    code: row.code,
    request_id: row.request_id,
    source_address: row.source_address,
    details: row.details as Record<string, unknown>,
  };
}
