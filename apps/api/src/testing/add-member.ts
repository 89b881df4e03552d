import { randomUUID } from "node:crypto";
import { type Answer, ApiCaller } from "./api-caller.ts";

export type NewMember = {
  readonly email: string;
  readonly name?: string;
  readonly role: string;
  /** Of the account, where there is one already. */
  readonly password?: string;
};

export type AddedMember = {
  readonly member: { readonly id: string; readonly role: string; readonly user: { readonly id: string } };
  /** What the person has chosen. */
  readonly password: string;
};

/** Adds a member through the API: an invitation, and its acceptance with a password of the person's own. */
export async function addMember(by: ApiCaller, person: NewMember): Promise<AddedMember> {
  const { email, name = "Somebody", role, password = randomUUID() } = person;
  const { secret } = succeeded(await by.post("/invitations", { email, role }));
  const nobody = new ApiCaller(by.app, null);
  const { member } = succeeded(await nobody.post("/auth/invitation/accept", { secret, name, password }));
  return { member, password };
}

function succeeded({ status, body }: Answer): Answer["body"] {
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
}
