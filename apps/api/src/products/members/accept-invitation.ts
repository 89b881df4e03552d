import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Unauthorized } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { mutation } from "../../platform/mutation.ts";
import { hashPassword } from "../../platform/passwords.ts";
import type { Reply } from "../../platform/reply.ts";
import {
  beginLogin,
  findUserByEmail,
  insertUser,
  passwordErrors,
  passwordProof,
  type UserRow,
} from "../account/index.ts";
import { findOffered } from "./invitation-store.ts";
import { actInOrganisationOf, join, noInvitation, offered } from "./join.ts";

/**
 * The password is checked against the rules for new ones whether or not the person is new, so that the answer
 * does not reveal which. A person whose existing password is easier logs in and joins with `POST
 * /me/organisations`.
 */
export async function checkAcceptInvitation(
  request: ApiRequest<"acceptInvitation">,
  { secret, name, password }: Partial<RequestBody<"acceptInvitation">>,
): Promise<FieldError[]> {
  if (secret === undefined) return [];
  const invitation = await findOffered(request.db, secret);
  if (invitation === null) return [noInvitation()];
  if (password === undefined) return [];
  return passwordErrors("/password", password, { email: invitation.email, name: name ?? "" });
}

/**
 * Joins as the person with the invited e-mail: a new one with the given password, or a known one by theirs.
 * Both take one hash and count as an attempt to log in, so an invitation's secret does not make guessing a
 * password faster.
 */
export async function acceptInvitation(request: ApiRequest<"acceptInvitation">): Promise<Reply> {
  const { secret, name, password } = request.body;
  const invitation = await offered(request, secret);
  const known = await findUserByEmail(request.db, invitation.email);
  const attempt = await beginLogin(request, invitation.email, known?.id ?? null);
  const passwordHash = known === null ? await hashPassword(password) : null;
  if (known !== null && (await passwordProof(request.db, known.id, password)) === null) throw wrong();
  await attempt.succeeded();

  actInOrganisationOf(request, invitation);
  return mutation(request, async (tx) => {
    const user = known ?? (await addUser(tx, { email: invitation.email, name, passwordHash }));
    request.established.actor = {
      type: user.is_operator ? "operator" : "user",
      id: user.id,
      name: user.name,
    };
    const joined = await join(tx, invitation, user.id);
    return { ...joined, details: { ...joined.details, new_user: known === null } };
  });
}

async function addUser(
  tx: Tx,
  person: { readonly email: string; readonly name: string; readonly passwordHash: string | null },
): Promise<UserRow> {
  const { email, name, passwordHash } = person;
  if (passwordHash === null) throw new Error("a new person has no password");
  const user = await insertUser(tx, { id: newId("usr"), email, name, password_hash: passwordHash });
  // A user with this e-mail was created a moment ago, and the password was not checked against theirs.
  if (user === null) throw wrong();
  return user;
}

function wrong(): Unauthorized {
  return new Unauthorized("the e-mail or the password is wrong");
}
