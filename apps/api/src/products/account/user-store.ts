import type { AppUser } from "@kule/database/generated/rows";
import { type Selectable, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";

/** All of a person but the password's hash, which only Postgres reads. */
export type UserRow = Omit<Selectable<AppUser>, "password_hash">;

const userColumns = [
  "id",
  "email",
  "email_key",
  "name",
  "has_password",
  "is_operator",
  "created_at",
  "password_changed_at",
  "second_factor_reset_at",
] as const;

/** The person's own row. */
export function findUser(db: Database | Tx, id: string): Promise<UserRow> {
  return db.selectFrom("app_user").select(userColumns).where("id", "=", id).executeTakeFirstOrThrow();
}

/** The user with that e-mail, whatever its case. */
export async function findUserByEmail(db: Database | Tx, email: string): Promise<UserRow | null> {
  const row = await db
    .selectFrom("app_user")
    .select(userColumns)
    .where("email_key", "=", sql<string>`lower(${email}::text)`)
    .executeTakeFirst();
  return row ?? null;
}

/** Adds a user; null when there is already a user with that e-mail. */
export async function insertUser(
  tx: Database | Tx,
  values: { id: string; email: string; name: string; password_hash: string | null; is_operator?: boolean },
): Promise<UserRow | null> {
  const row = await tx
    .insertInto("app_user")
    .values(values)
    .onConflict((on) => on.column("email_key").doNothing())
    .returning(userColumns)
    .executeTakeFirst();
  return row ?? null;
}
