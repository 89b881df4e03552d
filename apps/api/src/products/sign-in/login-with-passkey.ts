import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Unauthorized } from "../../platform/errors.ts";
import type { Reply } from "../../platform/reply.ts";
import { findUser, shownPasskey } from "../account/index.ts";
import { chooseSessionPlace, openSession } from "./open-session.ts";
import { findSignIn, signInProof } from "./sign-in-store.ts";

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
  const take = async (tx: Tx) => {
    if (!(await shown.take(tx))) throw refused();
  };
  const opening = { by, identityId, refusal: isRefused } as const;
  return signIn === undefined
    ? openSession(request, user, place, { ...opening, proof: shown.proof }, { before: take })
    : openSession(request, user, place, { ...opening, proof: signInProof(signIn) }, { after: take });
}

const isRefused = "the passkey is not known here, or its answer came too late";

/** One answer for all reasons: it must not reveal which passkeys there are. */
function refused(): Unauthorized {
  return new Unauthorized(isRefused);
}
