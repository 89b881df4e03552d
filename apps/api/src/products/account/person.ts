import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";

/** The person whose session makes the request. Only operations with the permission `session` may call it. */
export function personOf(request: ApiRequest): { readonly id: string; readonly sessionId: string } {
  const { kind, user, tokenId } = request.caller;
  if (kind !== "session" || user === null)
    throw new Error(`${request.operation.id} was reached without a session`);
  return { id: user.id, sessionId: tokenId };
}

/**
 * The lock that orders all changes of how the person signs in, with one another and with the sign-ins themselves.
 */
export async function lockPerson(tx: Tx, id: string): Promise<void> {
  await tx
    .selectFrom("app_user")
    .select("id")
    .where("id", "=", id)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
}
