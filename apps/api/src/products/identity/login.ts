import type { ApiRequest } from "../../platform/api-request.ts";
import { Unauthorized } from "../../platform/errors.ts";
import { verifyPassword } from "../../platform/passwords.ts";
import type { Reply } from "../../platform/reply.ts";
import { beginLogin } from "./login-limit.ts";
import { findUserByEmail } from "./member-store.ts";
import { chooseSessionPlace, openSession } from "./open-session.ts";
import { findSecondFactors, hasSecondFactor } from "./second-factor-store.ts";
import { askForSecondFactor, isWithoutSecondFactor } from "./second-step.ts";

/**
 * Opens a session. Whoever does not know the password learns nothing: an unknown e-mail, a wrong password and a user
 * who belongs nowhere answer the same, after the same work.
 */
export async function login(request: ApiRequest<"login">): Promise<Reply> {
  const { email, password, organisation_id: wanted } = request.body;
  request.established.auditDetails = { email };
  const user = await findUserByEmail(request.db, email);
  const attempt = await beginLogin(request, email, user?.id ?? null);
  const isRight = await verifyPassword(password, user?.password_hash ?? null);
  if (user === null || !isRight) throw wrong();
  await attempt.succeeded();
  const place = await chooseSessionPlace(request.db, user, wanted);
  if (place === null) throw wrong();
  const factors = await findSecondFactors(request.db, user.id);
  return hasSecondFactor(factors)
    ? askForSecondFactor(request, user.id, factors)
    : openSession(request, user, place, { by: "password" }, async (tx) => {
        if (!(await isWithoutSecondFactor(tx, user.id))) throw wrong();
      });
}

function wrong(): Unauthorized {
  return new Unauthorized("the e-mail or the password is wrong");
}
