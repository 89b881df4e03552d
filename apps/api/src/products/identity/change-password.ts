import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { hashPassword, verifyPassword } from "../../platform/passwords.ts";
import { noContent, type Reply } from "../../platform/reply.ts";
import { beginLogin } from "./login-limit.ts";
import { passwordErrors } from "./password-errors.ts";
import { findUser, personOf } from "./person.ts";
import { revokeSessionsOfUser } from "./session-store.ts";
import { endSignInsOfUser } from "./sign-in-store.ts";

export async function checkChangePassword(
  request: ApiRequest<"changePassword">,
  { new_password: password }: Partial<RequestBody<"changePassword">>,
): Promise<FieldError[]> {
  if (password === undefined) return [];
  return passwordErrors("/new_password", password, await findUser(request.db, personOf(request).id));
}

/**
 * Whoever found a browser open must not get away with the account: the current password is asked for, with the limit
 * of logins. Every other session ends, since a change is what people do when they fear that somebody else is in.
 */
export async function changePassword(request: ApiRequest<"changePassword">): Promise<Reply> {
  const { id, sessionId } = personOf(request);
  const { current_password: current, new_password: wanted } = request.body;
  const user = await findUser(request.db, id);
  const attempt = await beginLogin(request, user.email, id);
  if (!(await verifyPassword(current, user.password_hash))) throw wrong();
  await attempt.succeeded();
  const hash = await hashPassword(wanted);
  const answer = await mutation(
    request,
    async (tx) => {
      const changed = await tx
        .updateTable("app_user")
        .set({ password_hash: hash, password_changed_at: sql<Date>`clock_timestamp()` })
        .where("id", "=", id)
        .where("password_hash", "=", user.password_hash)
        .returning("id")
        .execute();
      // Changed elsewhere since we looked, which was to shut out whoever knows the old one.
      if (changed.length === 0) throw wrong();
      await endSignInsOfUser(tx, id);
      const revoked = await revokeSessionsOfUser(tx, id, sessionId);
      return { reply: noContent(), resource: id, details: { sessions_revoked: revoked } };
    },
    { evenIfSuspended: true },
  );
  request.deps.tokens.forgetCallers();
  return answer;
}

function wrong(): Invalid {
  return new Invalid([fieldError("/current_password", "incorrect", "is not your current password")]);
}
