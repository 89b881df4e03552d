import { createHash, randomBytes } from "node:crypto";
import { sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { isId, newId } from "../../platform/ids.ts";

const lifetimeSeconds = 300;

export type BegunSignIn = { readonly secret: string; readonly expiresAt: Date };

/**
 * A sign-in that waits for the second factor. Only `POST /auth/second-factor` takes its secret.
 *
 * @param identityId the account at a provider that was the first step; null for the password
 */
export async function beginSignIn(tx: Tx, userId: string, identityId: string | null): Promise<BegunSignIn> {
  const id = newId("sgn");
  const secret = `${id}_${randomBytes(24).toString("base64url")}`;
  const row = await tx
    .insertInto("sign_in")
    .values({
      id,
      user_id: userId,
      identity_id: identityId,
      secret_hash: hashOf(secret),
      expires_at: sql<Date>`clock_timestamp() + make_interval(secs => ${lifetimeSeconds})`,
    })
    .returning("expires_at")
    .executeTakeFirstOrThrow();
  return { secret, expiresAt: row.expires_at };
}

export type SignIn = { readonly userId: string; readonly identityId: string | null };

/** Whose sign-in it is, or null when it is over or never was. */
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

/** Uses it up. False when somebody else was faster, or it ended. */
export async function endSignIn(tx: Tx, secret: string): Promise<boolean> {
  const gone = await tx
    .deleteFrom("sign_in")
    .where("id", "=", secret.slice(0, 30))
    .where("secret_hash", "=", hashOf(secret))
    .where("expires_at", ">", sql<Date>`clock_timestamp()`)
    .returning("id")
    .execute();
  return gone.length === 1;
}

/** For a changed password: what the old one began comes to nothing. */
export async function endSignInsOfUser(tx: Tx, userId: string): Promise<void> {
  await tx.deleteFrom("sign_in").where("user_id", "=", userId).execute();
}

function hashOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}
