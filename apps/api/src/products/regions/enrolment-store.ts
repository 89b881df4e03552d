import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { newIdBody } from "../../platform/ids.ts";
import { hasChecksum, hashToken, mintSecret } from "../../platform/tokens.ts";

/*
 * kule_enr_<26 characters of id>_<32 random base62 characters><6 base62 characters of CRC32>: the format of tokens, but
 * not a token: it gives one agent one token, once.
 */
const pattern = /^kule_enr_([0-7][0-9a-hjkmnp-tv-z]{25})_[0-9A-Za-z]{38}$/;
const lifetimeSeconds = 900;

export type BegunEnrolment = { readonly id: string; readonly secret: string; readonly expiresAt: Date };

export async function beginEnrolment(tx: Tx, region: string, createdBy: string): Promise<BegunEnrolment> {
  const id = newIdBody();
  const { secret, hash } = mintSecret("enr", id);
  const row = await tx
    .insertInto("region_enrolment")
    .values({
      id,
      region,
      secret_hash: hash,
      created_by: createdBy,
      expires_at: sql<Date>`clock_timestamp() + make_interval(secs => ${lifetimeSeconds})`,
    })
    .returning("expires_at")
    .executeTakeFirstOrThrow();
  return { id, secret, expiresAt: row.expires_at };
}

export type UsedEnrolment = { readonly id: string; readonly region: string; readonly createdBy: string };

/** Uses the code up: of two at the same time one gets it. Null for whatever else the secret is. */
export async function takeEnrolment(tx: Tx, secret: string): Promise<UsedEnrolment | null> {
  const id = pattern.exec(secret)?.[1];
  if (id === undefined || !hasChecksum(secret)) return null;
  const row = await tx
    .updateTable("region_enrolment")
    .set({ used_at: sql<Date>`clock_timestamp()` })
    .where("id", "=", id)
    .where("secret_hash", "=", hashToken(secret))
    .where("used_at", "is", null)
    .where("expires_at", ">", sql<Date>`clock_timestamp()`)
    .returning(["id", "region", "created_by"])
    .executeTakeFirst();
  return row === undefined ? null : { id: row.id, region: row.region, createdBy: row.created_by };
}
