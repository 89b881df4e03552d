import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import { systemQuery, type Tx } from "../../platform/database.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { verifyPassword } from "../../platform/passwords.ts";
import { noContent, type Reply } from "../../platform/reply.ts";
import { beginAttempt } from "./login-limit.ts";
import { type ShownPasskey, shownPasskey } from "./passkey-ceremonies.ts";
import { findUser, personOf } from "./person.ts";
import { findSecondFactors, hasSecondFactor } from "./second-factor-store.ts";
import { takeSecondFactor } from "./take-second-factor.ts";

/**
 * Shows again who the person is. With a second factor the password is not enough: whoever has both a session and the
 * password could otherwise take the second factor away.
 */
export async function proveIdentity(request: ApiRequest<"proveIdentity">): Promise<Reply> {
  const { password, passkey, ...factor } = request.body;
  const given = Object.values(request.body).filter((value) => value !== undefined);
  if (given.length !== 1)
    throw new Invalid([
      fieldError("", "required", "exactly one of password, code, recovery_code and passkey"),
    ]);
  const { id, sessionId } = personOf(request);
  const user = await findUser(request.db, id);
  if (password !== undefined && hasSecondFactor(await findSecondFactors(request.db, id)))
    throw new Invalid([
      fieldError("/password", "conflicts_with", "is not enough with a second factor; send a code"),
    ]);
  const subject = password === undefined ? `second factor ${id}` : `email ${user.email.toLowerCase()}`;
  const attempt = await beginAttempt(request, subject, id);
  if (password !== undefined && !(await verifyPassword(password, user.password_hash)))
    throw new Invalid([fieldError("/password", "incorrect", "is not your password")]);
  const shown = passkey === undefined ? null : await shownPasskey(request, "prove", id, passkey);
  const answer = await mutation(
    request,
    async (tx) => {
      const by =
        password !== undefined
          ? "password"
          : passkey === undefined
            ? await takeSecondFactor(request, tx, id, factor)
            : await takePasskey(tx, shown);
      await systemQuery(tx, "a session is found by its own id")
        .updateTable("token")
        .set({ proven_at: sql<Date>`clock_timestamp()` })
        .where("id", "=", sessionId)
        .execute();
      return { reply: noContent(), resource: sessionId, details: { by } };
    },
    { evenIfSuspended: true },
  );
  await attempt.succeeded();
  return answer;
}

async function takePasskey(tx: Tx, shown: ShownPasskey | null): Promise<"passkey"> {
  if (shown !== null && (await shown.take(tx))) return "passkey";
  throw new Invalid([fieldError("/passkey", "incorrect", "is not known here, or its answer came too late")]);
}
