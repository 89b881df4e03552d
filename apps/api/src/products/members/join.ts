import type { FieldError } from "@kule/contract/field-errors";
import { alreadyMember } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, fieldError, Invalid } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { lockOrganisation, viewOrganisationRef } from "../organisations/index.ts";
import {
  acceptInvitationRow,
  findInvitation,
  findOffered,
  type OfferedInvitation,
} from "./invitation-store.ts";
import { findMember, findMemberOfUser, insertMember } from "./store.ts";
import { viewMember } from "./view.ts";

/** One text for every invalid secret, whatever the reason. */
export function noInvitation(): FieldError {
  return fieldError("/secret", "not_found", "no open invitation has this secret");
}

export async function checkSecret(
  request: ApiRequest,
  body: { readonly secret?: string },
): Promise<FieldError[]> {
  if (body.secret === undefined) return [];
  return (await findOffered(request.db, body.secret)) === null ? [noInvitation()] : [];
}

/** @throws Invalid for a secret that is not valid */
export async function offered(request: ApiRequest, secret: string): Promise<OfferedInvitation> {
  const invitation = await findOffered(request.db, secret);
  if (invitation === null) throw new Invalid([noInvitation()]);
  return invitation;
}

/** From here on the request acts in the organisation that it joins: its row-level security, its audit trail. */
export function actInOrganisationOf(request: ApiRequest, invitation: OfferedInvitation): void {
  request.established.organisation = {
    ...organisationOf(invitation),
    status: invitation.organisation_status === "suspended" ? "suspended" : "active",
  };
}

export function organisationOf(invitation: OfferedInvitation) {
  return {
    id: invitation.organisation_id,
    slug: invitation.organisation_slug,
    name: invitation.organisation_name,
  };
}

/**
 * Makes the person a member, once: of two concurrent uses of the secret one finds the invitation accepted.
 * The invitation has counted towards the quota `members`, so joining adds nothing.
 *
 * @param overFault what is thrown when the invitation is not open any more
 * @throws Invalid then, unless said otherwise
 * @throws Conflict `already_member`
 */
export async function join(
  tx: Tx,
  invitation: OfferedInvitation,
  userId: string,
  overFault: () => Error = () => new Invalid([noInvitation()]),
): Promise<Outcome> {
  const organisationId = invitation.organisation_id;
  await lockOrganisation(tx, organisationId);
  const now = await findInvitation(tx, organisationId, invitation.id);
  if (now?.status !== "open") throw overFault();
  const existing = await findMemberOfUser(tx, organisationId, userId);
  if (existing !== null)
    throw new Conflict(
      alreadyMember("not_yet_a_member", "you already belong to the organisation", {
        resource: existing.id,
      }),
    );
  const id = newId("mem");
  await insertMember(tx, { id, organisation_id: organisationId, user_id: userId, role: now.role });
  await acceptInvitationRow(tx, organisationId, invitation.id);
  const member = await findMember(tx, organisationId, id);
  if (member === null) throw new Error("a member who has just joined could not be found");
  return {
    reply: reply(200, {
      organisation: viewOrganisationRef(organisationOf(invitation)),
      member: viewMember(member, null),
    }),
    resource: id,
    details: { invitation_id: invitation.id, role: now.role },
  };
}
