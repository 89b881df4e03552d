import { createHash, randomBytes } from "node:crypto";
import { sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { isId, newId } from "../../platform/ids.ts";
import type { PersonProof } from "../account/index.ts";

const lifetimeSeconds = 300;

export type BegunSignIn = { readonly secret: string; readonly expiresAt: Date };

/**
 * A sign-in that waits for the second factor. Only `POST /auth/second-factor` accepts its secret.
 *
 * @param proof of the first step: the password, or an account at a provider
 * @returns null when Postgres does not accept the proof
 */
export async function beginSignIn(tx: Tx, proof: PersonProof, userId: string): Promise<BegunSignIn | null> {
  const id = newId("sgn");
  const secret = `${id}_${randomBytes(24).toString("base64url")}`;
  const { rows } = await sql<{ ends: Date | null }>`
    select kule_begin_sign_in(${JSON.stringify(proof)}::jsonb, ${userId}, ${id}, ${hashOf(secret)},
      ${lifetimeSeconds}::integer) as ends`.execute(tx);
  const ends = rows[0]?.ends ?? null;
  return ends === null ? null : { secret, expiresAt: ends };
}

export type SignIn = { readonly userId: string; readonly identityId: string | null };

/** The user of the sign-in, or null when it has ended or never existed. */
export async function findSignIn(db: Database, secret: string): Promise<SignIn | null> {
  const id = secret.slice(0, 30);
  if (!isId("sgn", id)) return null;
  const row = await db
    .selectFrom("sign_in")
    .select(["user_id", "identity_id"])
    .where("id", "=", id)
    .where("secret_hash", "=", hashOf(secret))
    .where("expires_at", ">", sql<Date>`clock_timestamp()`)
    .executeTakeFirst();
  return row === undefined ? null : { userId: row.user_id, identityId: row.identity_id };
}

/** Uses it up. */
export function signInProof(secret: string): PersonProof {
  return { by: "sign_in", id: secret.slice(0, 30), secret };
}

function hashOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}
