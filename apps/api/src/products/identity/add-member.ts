import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { alreadyMember } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { Conflict, fieldError, Invalid } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { mutation, type Outcome } from "../../platform/mutation.ts";
import { generatePassword, hashPassword } from "../../platform/passwords.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { takeQuota } from "../quotas/index.ts";
import { findMember, findMemberOfUser, findUserByEmail, insertMember, insertUser } from "./member-store.ts";
import { lockOrganisation } from "./organisation-store.ts";
import { memberships, requireGrantable, requireStillGrantable } from "./privilege.ts";
import { viewMember } from "./view.ts";

export async function checkAddMember(
  request: ApiRequest<"addMember">,
  body: Partial<RequestBody<"addMember">>,
): Promise<FieldError[]> {
  if (body.email === undefined || body.name !== undefined) return [];
  return (await findUserByEmail(request.db, body.email)) === null ? [nameNeeded()] : [];
}

/** Hashing takes longer than a transaction should be open, so the new user's password is made before it. */
export async function addMember(request: ApiRequest<"addMember">): Promise<Reply> {
  requireGrantable(request, ...memberships(request.body.role));
  const known = await findUserByEmail(request.db, request.body.email);
  const password = known === null ? generatePassword() : null;
  const passwordHash = password === null ? null : await hashPassword(password);
  return mutation(request, (tx) => add(request, tx, password, passwordHash));
}

async function add(
  request: ApiRequest<"addMember">,
  tx: Tx,
  password: string | null,
  passwordHash: string | null,
): Promise<Outcome> {
  const { body, organisationId } = request;
  let user = await findUserByEmail(tx, body.email);
  let initialPassword: string | null = null;
  if (user === null) {
    if (body.name === undefined || passwordHash === null) throw new Invalid([nameNeeded()]);
    const values = { id: newId("usr"), email: body.email, name: body.name, password_hash: passwordHash };
    user = await insertUser(tx, values);
    if (user === null) {
      // Somebody else added this person at the same moment; theirs is the password that counts.
      user = await findUserByEmail(tx, body.email);
    } else initialPassword = password;
  }
  if (user === null) throw new Error("a user with a taken e-mail could not be found");
  await lockOrganisation(tx, organisationId);
  await requireStillGrantable(request, tx, ...memberships(body.role));
  const existing = await findMemberOfUser(tx, organisationId, user.id);
  if (existing !== null) throw belongsAlready(existing.id);

  await takeQuota(tx, organisationId, { members: 1 });
  const id = newId("mem");
  await insertMember(tx, { id, organisation_id: organisationId, user_id: user.id, role: body.role }).catch(
    (error: unknown) => {
      throw violatedConstraint(error) === null ? error : belongsAlready(null);
    },
  );
  const member = await findMember(tx, organisationId, id);
  if (member === null) throw new Error("a member that was just added could not be found");
  return {
    reply: reply(
      201,
      { member: viewMember(member, request.caller), initial_password: initialPassword },
      { Location: `/api/v1/members/${id}` },
    ),
    resource: id,
    secretFields: ["initial_password"],
  };
}

function nameNeeded(): FieldError {
  return fieldError("/name", "required", "is required for a person who is new here");
}

function belongsAlready(memberId: string | null): Conflict {
  return new Conflict(
    alreadyMember("not_yet_a_member", "this person already belongs to the organisation", {
      resource: memberId,
      fix: memberId === null ? null : `change the role: PATCH /members/${memberId}`,
    }),
  );
}
