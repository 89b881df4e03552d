import { sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { newIdBody } from "../../platform/ids.ts";
import { hasChecksum, hashToken, mintSecret } from "../../platform/tokens.ts";

/*
 * kule_pwr_<26 characters of id>_<32 random base62 characters><6 base62 characters of CRC32>: as tokens are made, and
 * no token: it sets one password, once.
 */
const pattern = /^kule_pwr_([0-7][0-9a-hjkmnp-tv-z]{25})_[0-9A-Za-z]{38}$/;
const lifetimeSeconds = 3600;

export type BegunReset = { readonly secret: string; readonly expiresAt: Date };

/** Makes the secret that sets the person's password once, and ends the one before. */
export async function beginPasswordReset(tx: Database | Tx, userId: string): Promise<BegunReset> {
  const id = newIdBody();
  const { secret, hash } = mintSecret("pwr", id);
  const values = {
    id,
    secret_hash: hash,
    created_at: sql<Date>`clock_timestamp()`,
    expires_at: sql<Date>`clock_timestamp() + make_interval(secs => ${lifetimeSeconds})`,
  };
  const row = await tx
    .insertInto("password_reset")
    .values({ user_id: userId, ...values })
    .onConflict((on) => on.column("user_id").doUpdateSet(values))
    .returning("expires_at")
    .executeTakeFirstOrThrow();
  return { secret, expiresAt: row.expires_at };
}

/** Whose password the secret sets, or null when it opens nothing, for whatever reason. */
export async function findPasswordReset(db: Database, secret: string): Promise<string | null> {
  const id = idOf(secret);
  if (id === null) return null;
  const row = await db
    .selectFrom("password_reset")
    .select("user_id")
    .where("id", "=", id)
    .where("secret_hash", "=", hashToken(secret))
    .where("expires_at", ">", sql<Date>`clock_timestamp()`)
    .executeTakeFirst();
  return row?.user_id ?? null;
}

/** Uses it up. False when somebody else was faster, or it ended. */
export async function usePasswordReset(tx: Tx, secret: string): Promise<boolean> {
  const used = await tx
    .deleteFrom("password_reset")
    .where("id", "=", idOf(secret) ?? "")
    .where("secret_hash", "=", hashToken(secret))
    .where("expires_at", ">", sql<Date>`clock_timestamp()`)
    .returning("id")
    .execute();
  return used.length === 1;
}

function idOf(secret: string): string | null {
  const id = pattern.exec(secret)?.[1];
  return id === undefined || !hasChecksum(secret) ? null : id;
}
