import type { ApiRequest } from "../../platform/api-request.ts";
import { bearerOf } from "../../platform/bearer.ts";

/** The secret that authenticated the request; Postgres checks it before it creates an operator's token. */
export function minterOf(request: ApiRequest): { readonly id: string; readonly secret: string } {
  return { id: request.caller.tokenId, secret: bearerOf(request) ?? "" };
}
