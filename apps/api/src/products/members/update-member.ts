import { organisationRoles, roleAtMost } from "@kule/rules/identity/permissions";
import { lastOwner } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, NotFound } from "../../platform/errors.ts";
import { mutation, type Outcome } from "../../platform/mutation.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { lockOrganisation } from "../organisations/index.ts";
import { revokeInvitationsOfUser, withdrawnNote } from "./invitation-store.ts";
import { memberships, requireGrantable, requireStillGrantable } from "./privilege.ts";
import { countOwners, findMember, type MemberRow, updateMemberRole } from "./store.ts";
import { viewMember } from "./view.ts";

/** Changes a role. It counts from the next request on; other processes notice within a second. */
export async function updateMember(request: ApiRequest<"updateMember">, found: MemberRow): Promise<Reply> {
  requireGrantable(request, ...memberships(request.body.role));
  const answer = await mutation(request, (tx) => update(request, tx, found.id));
  request.deps.tokens.dropCallers();
  return answer;
}

async function update(request: ApiRequest<"updateMember">, tx: Tx, id: string): Promise<Outcome> {
  const { organisationId, body } = request;
  const member = await lockMember(tx, organisationId, id);
  await requireStillGrantable(request, tx, ...memberships(member.role, body.role));
  if (member.role === "owner" && body.role !== "owner") await requireAnotherOwner(tx, organisationId, id);
  await updateMemberRole(tx, organisationId, id, body.role);
  const beyond = organisationRoles.filter((role) => !roleAtMost(role, body.role));
  const withdrawn = await revokeInvitationsOfUser(tx, organisationId, member.user_id, beyond);
  return {
    reply: reply(200, viewMember({ ...member, role: body.role }, request.caller)),
    resource: id,
    details: { from: member.role, ...withdrawnNote(withdrawn) },
  };
}

/**
 * The member, under the lock that orders all changes of the organisation's members: two owners who step down
 * concurrently must not both count the other one.
 */
export async function lockMember(tx: Tx, organisationId: string, id: string): Promise<MemberRow> {
  await lockOrganisation(tx, organisationId);
  const member = await findMember(tx, organisationId, id);
  if (member === null) throw new NotFound();
  return member;
}

/** @throws Conflict `last_owner` */
export async function requireAnotherOwner(tx: Tx, organisationId: string, memberId: string): Promise<void> {
  if ((await countOwners(tx, organisationId)) <= 1) throw noOtherOwner(memberId);
}

function noOtherOwner(memberId: string): Conflict {
  return new Conflict(
    lastOwner("another_owner_remains", "the organisation would have no owner left", {
      resource: memberId,
      fix: "make another member an owner first",
    }),
  );
}
