import type { ApiRequest } from "./api-request.ts";
import { bearerOf } from "./bearer.ts";

/** A long answer may outlive its token; it must end with it. */
export async function isStillAllowed(request: ApiRequest): Promise<boolean> {
  const bearer = bearerOf(request);
  const caller = bearer === undefined ? null : await request.deps.tokens.callerOf(bearer);
  return caller?.permissions.has(request.operation.permission) === true;
}
