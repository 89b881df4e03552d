import type { ApiRequest } from "../../platform/api-request.ts";
import type { Api } from "../../platform/deps.ts";
import { operation } from "../../platform/operation.ts";
import { reply } from "../../platform/reply.ts";
import { acceptInvitation, checkAcceptInvitation } from "./accept-invitation.ts";
import { mountAccount } from "./account-routes.ts";
import { listAudit } from "./audit-store.ts";
import { beginOidcLogin } from "./begin-oidc-login.ts";
import { completeLogin } from "./complete-login.ts";
import { checkConfirmPasswordReset, confirmPasswordReset } from "./confirm-password-reset.ts";
import { createInvitation } from "./create-invitation.ts";
import { createOrganisation } from "./create-organisation.ts";
import { createPasswordReset } from "./create-password-reset.ts";
import { checkCreateToken, createToken } from "./create-token.ts";
import { endToken, replaceToken } from "./end-token.ts";
import { viewProvider } from "./identity-store.ts";
import { findInvitation, listInvitations } from "./invitation-store.ts";
import { checkSecret, offered, organisationOf } from "./join.ts";
import { joinOrganisation } from "./join-organisation.ts";
import { findOwnOrganisation, leaveOrganisation } from "./leave-organisation.ts";
import { listMyOrganisations } from "./list-my-organisations.ts";
import { login } from "./login.ts";
import { loginWithOidc } from "./login-with-oidc.ts";
import { loginWithPasskey } from "./login-with-passkey.ts";
import { logout } from "./logout.ts";
import { findMember, listMembers } from "./member-store.ts";
import { entryErrors } from "./operators-entry.ts";
import { findOrganisation, listOrganisations } from "./organisation-store.ts";
import { beginPasskeyLogin } from "./passkey-ceremonies.ts";
import { removeMember } from "./remove-member.ts";
import { requestPasswordReset } from "./request-password-reset.ts";
import { resetSecondFactor } from "./reset-second-factor.ts";
import { revokeInvitation } from "./revoke-invitation.ts";
import { switchOrganisation } from "./switch-organisation.ts";
import { findToken, listTokens, type TokenOwner } from "./token-store.ts";
import { updateMember } from "./update-member.ts";
import { updateOrganisation } from "./update-organisation.ts";
import { verifyAudit } from "./verify-audit.ts";
import {
  viewAuditEntry,
  viewInvitation,
  viewMe,
  viewMember,
  viewOrganisation,
  viewOrganisationRef,
  viewToken,
} from "./view.ts";

export function mountIdentity(api: Api): void {
  operation(api, "login", { handle: login });
  operation(api, "completeLogin", { handle: completeLogin });
  operation(api, "beginPasskeyLogin", { handle: beginPasskeyLogin });
  operation(api, "loginWithPasskey", { handle: loginWithPasskey });
  operation(api, "listOidcProviders", {
    handle: async ({ deps }) =>
      reply(200, { items: deps.settings.oidcProviders.map(viewProvider), next_cursor: null }),
  });
  operation(api, "beginOidcLogin", { handle: beginOidcLogin });
  operation(api, "loginWithOidc", { handle: loginWithOidc });
  operation(api, "requestPasswordReset", { handle: requestPasswordReset });
  operation(api, "confirmPasswordReset", { check: checkConfirmPasswordReset, handle: confirmPasswordReset });
  operation(api, "logout", { handle: logout });
  operation(api, "getMe", { handle: async ({ caller }) => reply(200, viewMe(caller)) });
  operation(api, "switchOrganisation", { handle: switchOrganisation });
  operation(api, "listMyOrganisations", { handle: listMyOrganisations });
  operation(api, "leaveOrganisation", { find: findOwnOrganisation, handle: leaveOrganisation });
  mountAccount(api);
  mountOrganisations(api);
  mountMembers(api);
  mountInvitations(api);
  mountTokens(api);
  operation(api, "verifyAudit", { organisation: "optional", handle: verifyAudit });
  operation(api, "listAudit", {
    organisation: "optional",
    handle: async (request) => {
      const page = await listAudit(request.db, request.organisationOrNull?.id ?? null, request.query);
      return reply(200, { items: page.rows.map(viewAuditEntry), next_cursor: page.nextCursor });
    },
  });
}

function mountOrganisations(api: Api): void {
  const find = (request: ApiRequest<"getOrganisationById" | "updateOrganisation">) =>
    findOrganisation(request.db, request.pathId("organisation_id", "org"));

  operation(api, "getOrganisation", {
    handle: async (request) => {
      const row = await findOrganisation(request.db, request.organisationId);
      if (row === null) throw new Error("the organisation of a valid token is gone");
      return reply(200, viewOrganisation(row));
    },
  });
  operation(api, "listOrganisations", {
    handle: async (request) => {
      const page = await listOrganisations(request.db, request.query);
      return reply(200, { items: page.rows.map(viewOrganisation), next_cursor: page.nextCursor });
    },
  });
  operation(api, "createOrganisation", { mutate: createOrganisation });
  operation(api, "getOrganisationById", {
    find,
    handle: async (_request, row) => reply(200, viewOrganisation(row)),
  });
  operation(api, "updateOrganisation", { find, handle: updateOrganisation });
}

function mountMembers(api: Api): void {
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

function mountTokens(api: Api): void {
  const organisation = "optional";
  const find = (request: ApiRequest<"getToken" | "revokeToken" | "rotateToken">) =>
    findToken(request.db, ownerOf(request), request.pathId("token_id", "tok"));

  operation(api, "listTokens", {
    organisation,
    handle: async (request) => {
      const page = await listTokens(request.db, ownerOf(request), request.query);
      return reply(200, { items: page.rows.map(viewToken), next_cursor: page.nextCursor });
    },
  });
  operation(api, "createToken", { organisation, check: checkCreateToken, mutate: createToken });
  operation(api, "getToken", {
    organisation,
    find,
    handle: async (_request, token) => reply(200, viewToken(token)),
  });
  operation(api, "revokeToken", {
    organisation,
    find,
    handle: (request, token) => endToken(request, ownerOf(request), token.id),
  });
  operation(api, "rotateToken", {
    organisation,
    find,
    check: entryErrors,
    handle: (request, token) =>
      replaceToken(request, ownerOf(request), token.id, request.body.overlap_seconds ?? 0, request.body),
  });
}

/** Whose tokens the request is about: the acting organisation's, or the operators' when there is none. */
function ownerOf(request: ApiRequest): TokenOwner {
  const organisation = request.organisationOrNull;
  return organisation === null
    ? { kind: "operator" }
    : { kind: "organisation", organisationId: organisation.id };
}
