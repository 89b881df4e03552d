import type { Passkey } from "@kule/database/generated/rows";
import { type Selectable, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { isId, newId } from "../../platform/ids.ts";
import type { PersonProof } from "./person-proof.ts";

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

/** By the authenticator's id of the credential: a sign-in with it names nothing else. */
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

/** Adds it; null when it is registered already. */
export async function insertPasskey(
  tx: Tx,
  proof: PersonProof,
  made: Pick<PasskeyRow, "user_id" | "name" | "credential" | "public_key" | "sign_count" | "is_synced"> & {
    readonly transports: readonly string[];
  },
): Promise<PasskeyRow | null> {
  const passkey = { ...made, id: newId("psk"), public_key: made.public_key.toString("hex") };
  const { rows } = await sql<{ is_added: boolean }>`
    select kule_add_passkey(${JSON.stringify(proof)}::jsonb, ${JSON.stringify(passkey)}::jsonb) as is_added`.execute(
    tx,
  );
  return rows[0]?.is_added === true ? findPasskey(tx, made.user_id, passkey.id) : null;
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
