import { alreadyInvited, alreadyMember } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { lockOrganisation } from "../organisations/index.ts";
import { takeQuota } from "../quotas/index.ts";
import { mintInvitation } from "./invitation-secret.ts";
import { findInvitation, findOpenInvitation, insertInvitation } from "./invitation-store.ts";
import { memberships, requireGrantable, requireStillGrantable } from "./privilege.ts";
import { findMemberByEmail } from "./store.ts";
import { viewInvitation } from "./view.ts";

const usualDays = 7;

/**
 * Invites. Reads the organisation's own members and invitations only: whether the e-mail has an account is
 * not queried.
 */
export async function createInvitation(request: ApiRequest<"createInvitation">, tx: Tx): Promise<Outcome> {
  const { body, caller, organisationId } = request;
  requireGrantable(request, ...memberships(body.role));
  // Under the lock that removing members takes: a caller who has just been removed cannot invite.
  await lockOrganisation(tx, organisationId);
  await requireStillGrantable(request, tx, ...memberships(body.role));
  const member = await findMemberByEmail(tx, organisationId, body.email);
  if (member !== null)
    throw new Conflict(
      alreadyMember("not_yet_a_member", "this person already belongs to the organisation", {
        resource: member.id,
        fix: `change the role: PATCH /members/${member.id}`,
      }),
    );
  const open = await findOpenInvitation(tx, organisationId, body.email);
  if (open !== null)
    throw new Conflict(
      alreadyInvited("not_yet_invited", "this person has an open invitation", {
        resource: open.id,
        fix: `withdraw it for a new one: DELETE /invitations/${open.id}`,
      }),
    );

  await takeQuota(tx, organisationId, { members: 1 });
  const { id, secret, hash } = mintInvitation();
  await insertInvitation(
    tx,
    {
      id,
      organisation_id: organisationId,
      email: body.email,
      role: body.role,
      secret_hash: hash,
      actor_type: caller.actor.type,
      actor_id: caller.actor.id,
      actor_name: caller.actor.name,
      invited_by_user_id: caller.isOperator ? null : (caller.user?.id ?? null),
    },
    body.expires_in_days ?? usualDays,
  );
  const invitation = await findInvitation(tx, organisationId, id);
  if (invitation === null) throw new Error("an invitation that was just written could not be found");
  return {
    reply: reply(
      201,
      { invitation: viewInvitation(invitation), secret },
      { Location: `/api/v1/invitations/${id}` },
    ),
    resource: id,
    secretFields: ["secret"],
  };
}
