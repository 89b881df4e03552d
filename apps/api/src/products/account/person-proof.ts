import { createHash } from "node:crypto";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import { bearerOf } from "../../platform/bearer.ts";
import type { Database, Tx } from "../../platform/database.ts";
import { hashAs } from "../../platform/passwords.ts";

/**
 * What Postgres requires before it opens a session, changes a password or adds a sign-in method: the API's
 * role can do none of these itself. See docs/adr/0028-sign-ins-by-functions.md.
 */
export type PersonProof =
  | { readonly by: "password"; readonly user: string; readonly hash: string }
  /** A sign-in that waits for its second step; the proof uses it up. */
  | { readonly by: "sign_in"; readonly id: string; readonly secret: string }
  | { readonly by: "session"; readonly id: string; readonly secret: string }
  | { readonly by: "reset"; readonly id: string; readonly secret: string }
  /** Noted as used in this transaction, with its challenge. */
  | { readonly by: "passkey"; readonly id: string; readonly challenge: string }
  /** Noted as used in this transaction. */
  | { readonly by: "identity"; readonly id: string }
  /** The account was created in this transaction. */
  | { readonly by: "new" };

export type PasswordProof = Extract<PersonProof, { readonly by: "password" }>;

/**
 * The proof that the password is the person's; null when it is not. Null stands for an unknown person: the
 * check takes as long and runs the same queries.
 */
export async function passwordProof(
  db: Database,
  userId: string | null,
  password: string,
): Promise<PasswordProof | null> {
  const user = userId ?? "";
  const { rows } = await sql<{ parameters: string | null }>`
    select kule_password_parameters(${user}) as parameters`.execute(db);
  const hash = await hashAs(password, rows[0]?.parameters ?? null);
  const compared = await sql<{ is_right: boolean }>`
    select kule_is_password(${user}, ${hash}) as is_right`.execute(db);
  return compared.rows[0]?.is_right === true ? { by: "password", user, hash } : null;
}

/** The session whose secret authenticated the request. */
export function sessionProof(request: ApiRequest): PersonProof {
  return { by: "session", id: request.caller.tokenId, secret: bearerOf(request) ?? "" };
}

/** @param challenge the random value that the passkey has signed */
export function passkeyProof(id: string, challenge: string): PersonProof {
  return { by: "passkey", id, challenge: createHash("sha256").update(challenge).digest("hex") };
}

/** Sets the password of the person whose proof it is. False when the proof is invalid or no longer valid. */
export async function writePassword(
  tx: Tx,
  proof: PersonProof,
  userId: string,
  hash: string,
): Promise<boolean> {
  const { rows } = await sql<{ is_set: boolean }>`
    select kule_set_password(${JSON.stringify(proof)}::jsonb, ${userId}, ${hash}) as is_set`.execute(tx);
  return rows[0]?.is_set === true;
}
