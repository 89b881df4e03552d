import type { Schemas } from "@kule/contract/schemas";
import { invalidState } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import { Conflict } from "../../platform/errors.ts";

/**
 * The user of a session, for what only people do who have logged in.
 *
 * @throws Conflict for other tokens, those that a person has minted included
 */
export function userOfSession(request: ApiRequest): Schemas["UserRef"] {
  const { kind, user, tokenId } = request.caller;
  if (kind === "session" && user !== null) return user;
  throw new Conflict(
    invalidState("token_is_a_session", "this token is not a session", {
      resource: tokenId,
      fix: "log in: POST /auth/login",
    }),
  );
}
