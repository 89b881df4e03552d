import type { Tx } from "../../platform/database.ts";
import { revokeTokensOfUser } from "../account/index.ts";
import { revokeInvitationsOfUser, withdrawnNote } from "./invitation-store.ts";
import { deleteMember, type MemberRow } from "./store.ts";

/**
 * Ends a membership with the sessions, the tokens and the invitations that depend on it, under the
 * organisation's lock.
 *
 * @returns what the audit trail records of it
 */
export async function endMembership(tx: Tx, member: MemberRow): Promise<Readonly<Record<string, unknown>>> {
  const { id, organisation_id: organisationId, user_id: userId, role } = member;
  await deleteMember(tx, organisationId, id);
  const revoked = await revokeTokensOfUser(tx, organisationId, userId);
  const withdrawn = await revokeInvitationsOfUser(tx, organisationId, userId);
  return { user_id: userId, role, tokens_revoked: revoked, ...withdrawnNote(withdrawn) };
}
