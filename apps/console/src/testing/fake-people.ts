import type { Schemas } from "@kule/contract/schemas";
import type { OrganisationRole } from "@kule/rules/identity/permissions";
import { permissionsOf, roleAtMost } from "@kule/rules/identity/permissions";
import type { Operation } from "./fake-operation.ts";
import { page } from "./fake-page.ts";
import { fakeId } from "./fake-records.ts";
import type { FakeState, FakeUser } from "./fake-state.ts";

type Member = Schemas["Member"];

const dayMs = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * dayMs).toISOString();
const refOf = ({ id, email, name }: FakeUser) => ({ id, email, name });

/** Members, invitations and switching between organisations, with the API's rules about roles. */
export function registerPeople(operation: Operation, state: FakeState): void {
  registerMembers(operation, state);
  registerInvitations(operation, state);
  registerJoining(operation, state);
  registerSwitching(operation, state);
}

function registerMembers(operation: Operation, state: FakeState): void {
  operation("get", "/members", "listMembers", ({ query }) => page(state.members, query));
  operation<Schemas["MemberUpdate"]>(
    "patch",
    "/members/:id",
    "updateMember",
    ({ params, body, token, fail }) => {
      const member = state.members.find(({ id }) => id === params.id);
      if (member === undefined) return fail(404, "not_found", "No such resource");
      if (!reaches(state.userOf(token), member.role, body.role))
        return fail(403, "forbidden", "Above your role", { required: ["member:manage"] });
      const isLast = state.members.filter(({ role }) => role === "owner").length === 1;
      if (member.role === "owner" && body.role !== "owner" && isLast)
        return fail(409, "last_owner", "The organisation would have no owner left");
      Object.assign(member, { role: body.role });
      return { status: 200, body: member };
    },
  );
  operation("delete", "/members/:id", "removeMember", ({ params, fail }) => {
    const index = state.members.findIndex(({ id }) => id === params.id);
    if (index < 0) return fail(404, "not_found", "No such resource");
    state.members.splice(index, 1);
    return { status: 204 };
  });
}

function reaches(user: FakeUser, ...roles: readonly OrganisationRole[]): boolean {
  return user.role === null || roles.every((role) => roleAtMost(role, user.role ?? "billing"));
}

function registerInvitations(operation: Operation, state: FakeState): void {
  operation("get", "/invitations", "listInvitations", ({ query }) => {
    const statuses = query.getAll("status");
    const shown = state.invitations.map(({ invitation }) => invitation);
    return page(
      shown.filter(({ status }) => statuses.length === 0 || statuses.includes(status)),
      query,
    );
  });
  operation<Schemas["InvitationCreate"]>(
    "post",
    "/invitations",
    "createInvitation",
    ({ body, token, fail }) => {
      const user = state.userOf(token);
      if (!reaches(user, body.role))
        return fail(403, "forbidden", "Above your role", { required: ["member:manage"] });
      const email = body.email.toLowerCase();
      if (state.members.some((member) => member.user.email === email))
        return fail(409, "already_member", "This person already belongs to the organisation");
      if (state.invitations.some((each) => each.invitation.email === email && isOpen(each.invitation)))
        return fail(409, "already_invited", "This person has an open invitation");
      const invitation: Schemas["Invitation"] = {
        id: fakeId("inv"),
        email,
        role: body.role,
        status: "open",
        invited_by: { type: "user", id: user.id, name: user.name },
        created_at: new Date().toISOString(),
        expires_at: inDays(body.expires_in_days ?? 7),
        accepted_at: null,
        revoked_at: null,
      };
      const secret = `kule_inv_${crypto.randomUUID()}`;
      state.invitations.unshift({ invitation, secret });
      return { status: 201, body: { invitation, secret } };
    },
  );
  operation("delete", "/invitations/:id", "revokeInvitation", ({ params, fail }) => {
    const found = state.invitations.find(({ invitation }) => invitation.id === params.id)?.invitation;
    if (found === undefined) return fail(404, "not_found", "No such resource");
    if (isOpen(found)) Object.assign(found, { status: "revoked", revoked_at: new Date().toISOString() });
    return { status: 204 };
  });
}

const isOpen = ({ status }: Schemas["Invitation"]) => status === "open";

function registerJoining(operation: Operation, state: FakeState): void {
  const find = (secret: string) =>
    state.invitations.find((each) => each.secret === secret && isOpen(each.invitation))?.invitation;
  const wrong = {
    errors: [
      {
        field: "secret",
        code: "not_found" as const,
        message: "no open invitation has this secret",
        pointer: "/secret",
      },
    ],
  };
  const [organisation] = state.organisations;
  if (organisation === undefined) throw new Error("no organisation");
  const { id, slug, name } = organisation;

  const join = (user: FakeUser, invitation: Schemas["Invitation"]): Schemas["OrganisationJoined"] => {
    const now = new Date().toISOString();
    Object.assign(invitation, { status: "accepted", accepted_at: now });
    const member: Member = {
      id: fakeId("mem"),
      user: refOf(user),
      role: invitation.role,
      second_factor: false,
      created_at: now,
    };
    state.members.push(member);
    return { organisation: { id, slug, name }, member };
  };

  operation<Schemas["InvitationSecret"]>(
    "post",
    "/auth/invitation",
    "readInvitation",
    ({ body, fail }) => {
      const invitation = find(body.secret);
      if (invitation === undefined) return fail(422, "validation_failed", "The request is wrong", wrong);
      const { email, role, expires_at } = invitation;
      const offer: Schemas["InvitationOffer"] = {
        organisation: { id, slug, name },
        email,
        role,
        invited_by: invitation.invited_by.name,
        expires_at,
      };
      return { status: 200, body: offer };
    },
    true,
  );
  operation<Schemas["InvitationAcceptance"]>(
    "post",
    "/auth/invitation/accept",
    "acceptInvitation",
    ({ body, fail }) => {
      const invitation = find(body.secret);
      if (invitation === undefined) return fail(422, "validation_failed", "The request is wrong", wrong);
      const known = state.users.find(({ email }) => email === invitation.email);
      if (known !== undefined && known.password !== body.password)
        return fail(401, "unauthorized", "The e-mail or the password is wrong");
      const user: FakeUser = known ?? {
        id: fakeId("usr"),
        email: invitation.email,
        password: body.password,
        name: body.name,
        organisation: { id, slug, name },
        role: invitation.role,
        permissions: permissionsOf(invitation.role),
      };
      if (known === undefined) state.users.push(user);
      return { status: 200, body: join(user, invitation) };
    },
    true,
  );
  operation<Schemas["InvitationSecret"]>(
    "post",
    "/me/organisations",
    "joinOrganisation",
    ({ body, token, fail }) => {
      const user = state.userOf(token);
      const invitation = find(body.secret);
      if (invitation === undefined) return fail(422, "validation_failed", "The request is wrong", wrong);
      if (invitation.email !== user.email)
        return fail(409, "invalid_state", "The invitation is for another e-mail", {
          precondition: {
            name: "invitation_is_for_you",
            code: "invalid_state",
            message: "the invitation is for another e-mail",
            resource: invitation.id,
            fix: null,
          },
        });
      state.memberships.push({ user: user.id, organisation: { id, slug, name }, role: invitation.role });
      return { status: 200, body: join(user, invitation) };
    },
  );
}

function registerSwitching(operation: Operation, state: FakeState): void {
  const membershipsOf = (user: FakeUser) => [
    ...(user.organisation === null || user.role === null
      ? []
      : [{ user: user.id, organisation: user.organisation, role: user.role }]),
    ...state.memberships.filter(
      (each) => each.user === user.id && each.organisation.id !== user.organisation?.id,
    ),
  ];
  operation("get", "/me/organisations", "listMyOrganisations", ({ token }) => {
    const user = state.userOf(token);
    const items = membershipsOf(user).map(({ organisation, role }) => ({
      ...organisation,
      role,
      current: organisation.id === user.organisation?.id,
    }));
    return { status: 200, body: { items, next_cursor: null } satisfies Schemas["MyOrganisationList"] };
  });
  operation("delete", "/me/organisations/:id", "leaveOrganisation", ({ params, token, fail }) => {
    const user = state.userOf(token);
    const left = membershipsOf(user).find(({ organisation }) => organisation.id === params.id);
    if (left === undefined) return fail(404, "not_found", "No such resource");
    if (left.role === "owner")
      return fail(409, "last_owner", "The organisation would have no owner left", {
        precondition: {
          name: "another_owner_remains",
          code: "last_owner",
          message: "the organisation would have no owner left",
          resource: null,
          fix: "make another member an owner first",
        },
      });
    const rest = state.memberships.filter(
      (each) => each.user !== user.id || each.organisation.id !== left.organisation.id,
    );
    state.memberships.splice(0, state.memberships.length, ...rest);
    if (left.organisation.id === user.organisation?.id) state.sessions.delete(token);
    return { status: 204 };
  });
  operation<Schemas["OrganisationSwitch"]>(
    "post",
    "/auth/switch-organisation",
    "switchOrganisation",
    ({ body, token, fail }) => {
      const user = state.userOf(token);
      const chosen = membershipsOf(user).find(({ organisation }) => organisation.id === body.organisation_id);
      if (chosen === undefined)
        return fail(422, "validation_failed", "The request is wrong", {
          errors: [
            {
              field: "organisation_id",
              code: "not_found",
              message: "no such organisation",
              pointer: "/organisation_id",
            },
          ],
        });
      const { organisation, role } = chosen;
      // Both memberships are kept, whichever organisation the session is in.
      if (user.organisation !== null && user.role !== null)
        state.memberships.push({ user: user.id, organisation: user.organisation, role: user.role });
      state.sessions.delete(token);
      const successor = `kule_ses_${crypto.randomUUID()}`;
      state.sessions.set(successor, { ...user, organisation, role, permissions: permissionsOf(role) });
      const session: Schemas["Session"] = {
        token: successor,
        expires_at: new Date(Date.now() + 3_600_000).toISOString(),
        user: refOf(user),
        organisation,
      };
      return { status: 200, body: session };
    },
  );
}
