import type { Passkey } from "@kule/database/generated/rows";
import { type Selectable, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { isId } from "../../platform/ids.ts";

export type PasskeyRow = Selectable<Passkey>;

export function listPasskeys(db: Database | Tx, userId: string): Promise<PasskeyRow[]> {
  return db
    .selectFrom("passkey")
    .selectAll()
    .where("user_id", "=", userId)
    .orderBy("created_at")
    .orderBy("id")
    .execute();
}

export async function findPasskey(db: Database | Tx, userId: string, id: string): Promise<PasskeyRow | null> {
  if (!isId("psk", id)) return null;
  const row = await db
    .selectFrom("passkey")
    .selectAll()
    .where("user_id", "=", userId)
    .where("id", "=", id)
    .executeTakeFirst();
  return row ?? null;
}

/** By what the authenticator calls it: whoever signs in with it says no more. */
export async function findPasskeyByCredential(
  db: Database | Tx,
  credential: string,
): Promise<PasskeyRow | null> {
  const row = await db
    .selectFrom("passkey")
    .selectAll()
    .where("credential", "=", credential)
    .executeTakeFirst();
  return row ?? null;
}

/** Notes a use. False when it was removed meanwhile, or another use has counted further: then it is a copy. */
export async function notePasskeyUse(tx: Tx, id: string, seen: number, signCount: number): Promise<boolean> {
  const noted = await tx
    .updateTable("passkey")
    .set({ sign_count: signCount, last_used_at: sql<Date>`clock_timestamp()` })
    .where("id", "=", id)
    .where("sign_count", "=", String(seen))
    .returning("id")
    .execute();
  return noted.length === 1;
}
