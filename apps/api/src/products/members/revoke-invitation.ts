import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { noContent } from "../../platform/reply.ts";
import { lockOrganisation } from "../organisations/index.ts";
import { type InvitationRow, revokeInvitationRow } from "./invitation-store.ts";
import { requireRoleWithinReach } from "./privilege.ts";

/** Withdraws an invitation, in one order with those who accept it. */
export async function revokeInvitation(
  request: ApiRequest<"revokeInvitation">,
  tx: Tx,
  found: InvitationRow,
): Promise<Outcome> {
  requireRoleWithinReach(request, found.role);
  await lockOrganisation(tx, request.organisationId);
  await revokeInvitationRow(tx, request.organisationId, found.id);
  return { reply: noContent(), resource: found.id, details: { email: found.email, role: found.role } };
}
