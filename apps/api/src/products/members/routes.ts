import type { ApiRequest } from "../../platform/api-request.ts";
import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { viewOrganisationRef } from "../organisations/index.ts";
import { acceptInvitation, checkAcceptInvitation } from "./accept-invitation.ts";
import { createInvitation } from "./create-invitation.ts";
import { createPasswordReset } from "./create-password-reset.ts";
import { findInvitation, listInvitations } from "./invitation-store.ts";
import { checkSecret, offered, organisationOf } from "./join.ts";
import { joinOrganisation } from "./join-organisation.ts";
import { findOwnOrganisation, leaveOrganisation } from "./leave-organisation.ts";
import { listMyOrganisations } from "./list-my-organisations.ts";
import { removeMember } from "./remove-member.ts";
import { resetSecondFactor } from "./reset-second-factor.ts";
import { revokeInvitation } from "./revoke-invitation.ts";
import { findMember, listMembers } from "./store.ts";
import { updateMember } from "./update-member.ts";
import { viewInvitation, viewMember } from "./view.ts";

export function mountMembers(api: Api): void {
  const find = (
    request: ApiRequest<
      "getMember" | "updateMember" | "removeMember" | "resetSecondFactor" | "createPasswordReset"
    >,
  ) => findMember(request.db, request.organisationId, request.pathId("member_id", "mem"));

  operation(api, "listMembers", {
    handle: async (request) => {
      const page = await listMembers(request.db, request.organisationId, request.query);
      return reply(200, {
        items: page.rows.map((row) => viewMember(row, request.caller)),
        next_cursor: page.nextCursor,
      });
    },
  });
  operation(api, "getMember", {
    find,
    handle: async (request, member) => reply(200, viewMember(member, request.caller)),
  });
  operation(api, "updateMember", { find, handle: updateMember });
  operation(api, "removeMember", { find, handle: removeMember });
  operation(api, "resetSecondFactor", { find, handle: resetSecondFactor });
  operation(api, "createPasswordReset", { find, handle: createPasswordReset });
  operation(api, "listMyOrganisations", { handle: listMyOrganisations });
  operation(api, "leaveOrganisation", { find: findOwnOrganisation, handle: leaveOrganisation });
  mountInvitations(api);
}

function mountInvitations(api: Api): void {
  const find = (request: ApiRequest<"getInvitation" | "revokeInvitation">) =>
    findInvitation(request.db, request.organisationId, request.pathId("invitation_id", "inv"));

  operation(api, "listInvitations", {
    handle: async (request) => {
      const page = await listInvitations(request.db, request.organisationId, request.query);
      return reply(200, { items: page.rows.map(viewInvitation), next_cursor: page.nextCursor });
    },
  });
  operation(api, "createInvitation", { mutate: createInvitation });
  operation(api, "getInvitation", {
    find,
    handle: async (_request, invitation) => reply(200, viewInvitation(invitation)),
  });
  operation(api, "revokeInvitation", { find, mutate: revokeInvitation });
  operation(api, "readInvitation", {
    handle: async (request) => {
      const invitation = await offered(request, request.body.secret);
      return reply(200, {
        organisation: viewOrganisationRef(organisationOf(invitation)),
        email: invitation.email,
        role: invitation.role,
        invited_by: invitation.actor_name,
        expires_at: invitation.expires_at.toISOString(),
      });
    },
  });
  operation(api, "acceptInvitation", { check: checkAcceptInvitation, handle: acceptInvitation });
  operation(api, "joinOrganisation", { check: checkSecret, handle: joinOrganisation });
}
