import type { ApiRequest } from "../../platform/api-request.ts";
import { Unauthorized } from "../../platform/errors.ts";
import type { Reply } from "../../platform/reply.ts";
import { authenticationOptions, ceremony, listPasskeys } from "../account/index.ts";
import { findSignIn } from "./sign-in-store.ts";

/**
 * The options for a browser that is not signed in. Without a sign-in nothing in the answer depends on who has
 * passkeys.
 */
export async function beginPasskeyLogin(request: ApiRequest<"beginPasskeyLogin">): Promise<Reply> {
  const { sign_in: signIn } = request.body;
  const userId = signIn === undefined ? null : ((await findSignIn(request.db, signIn))?.userId ?? null);
  if (signIn !== undefined && userId === null) throw new Unauthorized("the sign-in is over; start again");
  const allowed = userId === null ? null : await listPasskeys(request.db, userId);
  return ceremony(request, "login", userId, await authenticationOptions(request.deps, allowed));
}
