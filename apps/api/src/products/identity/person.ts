import type { ApiRequest } from "../../platform/api-request.ts";
import type { Database, Tx } from "../../platform/database.ts";
import { type UserRow, userColumns } from "./member-store.ts";

/** Whose session makes the call. Only operations with the permission `session` may ask. */
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

/** The person's own row. */
export function findUser(db: Database | Tx, id: string): Promise<UserRow> {
  return db.selectFrom("app_user").select(userColumns).where("id", "=", id).executeTakeFirstOrThrow();
}
