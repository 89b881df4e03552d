import type { Schemas } from "@kule/contract/schemas";
import type { Caller } from "../../platform/caller.ts";
import type { InvitationRow } from "./invitation-store.ts";
import type { MemberRow } from "./store.ts";

/** @param caller how others sign in is shown only to callers who manage members */
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
