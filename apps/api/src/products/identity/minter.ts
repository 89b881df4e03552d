import type { ApiRequest } from "../../platform/api-request.ts";
import { bearerOf } from "../../platform/bearer.ts";

/** Whose secret made the call; Postgres holds it against the token before it makes an operator's. */
export function minterOf(request: ApiRequest): { readonly id: string; readonly secret: string } {
  return { id: request.caller.tokenId, secret: bearerOf(request) ?? "" };
}
