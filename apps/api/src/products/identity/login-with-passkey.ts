import type { ApiRequest } from "../../platform/api-request.ts";
import { Unauthorized } from "../../platform/errors.ts";
import type { Reply } from "../../platform/reply.ts";
import { chooseSessionPlace, openSession } from "./open-session.ts";
import { shownPasskey } from "./passkey-ceremonies.ts";
import { findUser } from "./person.ts";
import { endSignIn, findSignIn } from "./sign-in-store.ts";

/** Opens a session for who has shown a passkey: by it alone, or as the second step after a password. */
export async function loginWithPasskey(request: ApiRequest<"loginWithPasskey">): Promise<Reply> {
  const { sign_in: signIn, organisation_id: wanted, ...answer } = request.body;
  const expected = signIn === undefined ? null : await findSignIn(request.db, signIn);
  if (signIn !== undefined && expected === null) throw refused();
  const shown = await shownPasskey(request, "login", expected?.userId ?? null, answer);
  if (shown === null) throw refused();
  const user = await findUser(request.db, shown.passkey.user_id);
  request.established.auditDetails = { user: user.id };
  const place = await chooseSessionPlace(request.db, user, wanted);
  if (place === null) throw refused();
  const identityId = expected?.identityId ?? null;
  const by =
    expected === null ? "passkey" : identityId === null ? "password_and_passkey" : "oidc_and_passkey";
  return openSession(request, user, place, { by, identityId }, async (tx) => {
    if (signIn !== undefined && !(await endSignIn(tx, signIn))) throw refused();
    if (!(await shown.take(tx))) throw refused();
  });
}

/** One answer for all reasons: which passkeys there are is nobody's business. */
function refused(): Unauthorized {
  return new Unauthorized("the passkey is not known here, or its answer came too late");
}
