import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { hashPassword } from "../../platform/passwords.ts";
import { noContent, type Reply } from "../../platform/reply.ts";
import {
  endSignInsOfUser,
  findPasswordReset,
  findUser,
  lockPerson,
  passwordErrors,
  resetProof,
  revokeSessionsOfUser,
  revokeTokensMintedBy,
  writePassword,
} from "../account/index.ts";
import { actAsUser } from "./open-session.ts";

export async function checkConfirmPasswordReset(
  request: ApiRequest<"confirmPasswordReset">,
  { secret, new_password: wanted }: Partial<RequestBody<"confirmPasswordReset">>,
): Promise<FieldError[]> {
  if (secret === undefined) return [];
  const userId = await findPasswordReset(request.db, secret);
  if (userId === null) return [opensNothing()];
  return wanted === undefined
    ? []
    : passwordErrors("/new_password", wanted, await findUser(request.db, userId));
}

/** Sets the password and ends every session. It opens none, so a second factor is still required. */
export async function confirmPasswordReset(request: ApiRequest<"confirmPasswordReset">): Promise<Reply> {
  const { secret, new_password: wanted, end_tokens: endTokens } = request.body;
  const userId = await findPasswordReset(request.db, secret);
  if (userId === null) throw new Invalid([opensNothing()]);
  const hash = await hashPassword(wanted);
  const answer = await mutation(request, async (tx) => {
    await lockPerson(tx, userId);
    if (!(await writePassword(tx, resetProof(secret), userId, hash))) throw new Invalid([opensNothing()]);
    actAsUser(request, await findUser(tx, userId));
    await endSignInsOfUser(tx, userId);
    const sessions = await revokeSessionsOfUser(tx, userId, null);
    const tokens = endTokens === true ? await revokeTokensMintedBy(tx, userId) : 0;
    return {
      reply: noContent(),
      resource: userId,
      details: { sessions_revoked: sessions, tokens_revoked: tokens },
    };
  });
  request.deps.tokens.dropCallers();
  return answer;
}

function opensNothing(): FieldError {
  return fieldError("/secret", "not_found", "sets no password; ask an operator for a new one");
}
