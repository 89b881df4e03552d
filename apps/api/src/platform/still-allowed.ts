import type { ApiRequest } from "./api-request.ts";

/** An answer that goes on for long may outlive its token; it does not go on without it. */
export async function isStillAllowed(request: ApiRequest): Promise<boolean> {
  const bearer = /^Bearer +(\S+)$/i.exec(request.header("Authorization") ?? "")?.[1];
  const caller = bearer === undefined ? null : await request.deps.tokens.callerOf(bearer);
  return caller?.permissions.has(request.operation.permission) === true;
}
