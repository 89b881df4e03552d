import type { ApiRequest } from "../../platform/api-request.ts";
import { fieldError, Invalid, Unauthorized } from "../../platform/errors.ts";
import type { Reply } from "../../platform/reply.ts";
import { beginAttempt, findUser, takeSecondFactor } from "../account/index.ts";
import { chooseSessionPlace, openSession } from "./open-session.ts";
import { findSignIn, signInProof } from "./sign-in-store.ts";

/**
 * The second step of a sign-in: the code is accepted, the sign-in used up and the session opened, all or
 * nothing.
 */
export async function completeLogin(request: ApiRequest<"completeLogin">): Promise<Reply> {
  const { sign_in: secret, organisation_id: wanted, code, recovery_code } = request.body;
  if ((code === undefined) === (recovery_code === undefined))
    throw new Invalid([fieldError("/code", "required", "either it or recovery_code, and not both")]);
  const signIn = await findSignIn(request.db, secret);
  if (signIn === null) throw over();
  const { userId, identityId } = signIn;
  request.established.auditDetails = { user: userId };
  const attempt = await beginAttempt(request, `second factor ${userId}`, userId);
  const user = await findUser(request.db, userId);
  const place = await chooseSessionPlace(request.db, user, wanted);
  if (place === null) throw over();
  const first = identityId === null ? "password" : "oidc";
  const by = code === undefined ? (`${first}_and_recovery_code` as const) : (`${first}_and_totp` as const);
  const answer = await openSession(
    request,
    user,
    place,
    { proof: signInProof(secret), by, identityId, refusal: isOver },
    { after: async (tx) => void (await takeSecondFactor(request, tx, userId, { code, recovery_code })) },
  );
  await attempt.succeeded();
  return answer;
}

const isOver = "the sign-in is over or was never begun; start again with POST /auth/login";

function over(): Unauthorized {
  return new Unauthorized(isOver);
}
