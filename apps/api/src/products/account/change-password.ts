import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { hashPassword } from "../../platform/passwords.ts";
import { noContent, type Reply } from "../../platform/reply.ts";
import { beginLogin } from "./login-limit.ts";
import { passwordErrors } from "./password-errors.ts";
import { personOf } from "./person.ts";
import { passwordProof, sessionProof, writePassword } from "./person-proof.ts";
import { requireProof } from "./proof.ts";
import { endSignInsOfUser, revokeSessionsOfUser } from "./session-store.ts";
import { revokeTokensMintedBy } from "./token-end-store.ts";
import { findUser } from "./user-store.ts";

export async function checkChangePassword(
  request: ApiRequest<"changePassword">,
  body: Partial<RequestBody<"changePassword">>,
): Promise<FieldError[]> {
  const user = await findUser(request.db, personOf(request).id);
  const { current_password: current, new_password: wanted } = body;
  return [
    ...(user.has_password && current === undefined ? [currentNeeded()] : []),
    ...(wanted === undefined ? [] : passwordErrors("/new_password", wanted, user)),
  ];
}

function currentNeeded(): FieldError {
  return fieldError("/current_password", "required", "is needed to change it");
}

/**
 * The current password is required, with the rate limit of logins: a browser left open must not be enough to
 * take over the account. Every other session ends, because people change a password when they fear that
 * another person is signed in. Tokens end only on request: the person's scripts may depend on them.
 */
export async function changePassword(request: ApiRequest<"changePassword">): Promise<Reply> {
  const { id } = personOf(request);
  const { current_password: current = "", new_password: wanted } = request.body;
  const user = await findUser(request.db, id);
  if (!user.has_password) return setFirstPassword(request, wanted);
  const attempt = await beginLogin(request, user.email, id);
  const proof = await passwordProof(request.db, id, current);
  if (proof === null) throw wrong();
  await attempt.succeeded();
  const hash = await hashPassword(wanted);
  return change(request, async (tx) => {
    // The password was changed elsewhere since it was checked, and the old one no longer counts.
    if (!(await writePassword(tx, proof, id, hash))) throw wrong();
  });
}

/**
 * For a person who signs in with a provider: there is no current password to check, so a recent proof is
 * required.
 */
async function setFirstPassword(request: ApiRequest<"changePassword">, wanted: string): Promise<Reply> {
  const { id } = personOf(request);
  const hash = await hashPassword(wanted);
  return change(request, async (tx) => {
    await requireProof(request, tx);
    // A password was set since the request began: it is the current one now.
    if (!(await writePassword(tx, sessionProof(request), id, hash))) throw new Invalid([currentNeeded()]);
  });
}

async function change(
  request: ApiRequest<"changePassword">,
  write: (tx: Tx) => Promise<void>,
): Promise<Reply> {
  const { id, sessionId } = personOf(request);
  const endTokens = request.body.end_tokens === true;
  const answer = await mutation(
    request,
    async (tx) => {
      await write(tx);
      await endSignInsOfUser(tx, id);
      const revoked = await revokeSessionsOfUser(tx, id, sessionId);
      const tokens = endTokens ? await revokeTokensMintedBy(tx, id) : 0;
      const details = { sessions_revoked: revoked, tokens_revoked: tokens };
      return { reply: noContent(), resource: id, details };
    },
    { evenIfSuspended: true },
  );
  request.deps.tokens.dropCallers();
  return answer;
}

function wrong(): Invalid {
  return new Invalid([fieldError("/current_password", "incorrect", "is not your current password")]);
}
