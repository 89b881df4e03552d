import { randomUUID } from "node:crypto";
import type { ApiClient } from "@kule/contract/client";
import type { Schemas } from "@kule/contract/schemas";

/** Adds a member through the API: an invitation, and its acceptance with a password of the person's own. */
export async function addMember(
  organisation: ApiClient,
  person: { readonly email: string; readonly name: string; readonly role: Schemas["Role"] },
): Promise<{ email: string; password: string }> {
  const { email, name, role } = person;
  const invited = await organisation.POST("/invitations", { body: { email, role } });
  const secret = invited.data?.secret;
  if (secret == null) throw new Error(JSON.stringify(invited.error));
  const password = randomUUID();
  const joined = await organisation.POST("/auth/invitation/accept", { body: { secret, name, password } });
  if (joined.data === undefined) throw new Error(JSON.stringify(joined.error));
  return { email, password };
}
