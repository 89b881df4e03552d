import type { RequestQuery } from "@kule/contract/schemas";
import type { AppUser } from "@kule/database/generated/rows";
import { type Selectable, sql } from "kysely";
import { type Database, systemQuery, type Tx } from "../../platform/database.ts";
import { fetchPage, newestFirst, type Page } from "../../platform/pagination.ts";

export type MemberRow = {
  readonly id: string;
  readonly organisation_id: string;
  readonly user_id: string;
  readonly role: string;
  readonly created_at: Date;
  readonly email: string;
  readonly name: string;
  readonly second_factor: boolean;
};

/** All of a person but the password's hash, which only Postgres reads. */
export type UserRow = Omit<Selectable<AppUser>, "password_hash">;

export const userColumns = [
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

const columns = [
  "member.id",
  "member.organisation_id",
  "member.user_id",
  "member.role",
  "member.created_at",
  "app_user.email",
  "app_user.name",
] as const;

function members(db: Database | Tx, organisationId: string) {
  return db
    .selectFrom("member")
    .innerJoin("app_user", "app_user.id", "member.user_id")
    .select(columns)
    .select(
      sql<boolean>`exists (select from user_totp where user_id = app_user.id and confirmed_at is not null)
        or exists (select from passkey where user_id = app_user.id)`.as("second_factor"),
    )
    .where("member.organisation_id", "=", organisationId);
}

export function listMembers(
  db: Database,
  organisationId: string,
  query: RequestQuery<"listMembers">,
): Promise<Page<MemberRow>> {
  return fetchPage(members(db, organisationId), newestFirst("members", query, "member"));
}

export async function findMember(
  db: Database | Tx,
  organisationId: string,
  id: string,
): Promise<MemberRow | null> {
  const row = await members(db, organisationId).where("member.id", "=", id).executeTakeFirst();
  return row ?? null;
}

export async function findMemberOfUser(
  db: Database | Tx,
  organisationId: string,
  userId: string,
): Promise<MemberRow | null> {
  const row = await members(db, organisationId).where("member.user_id", "=", userId).executeTakeFirst();
  return row ?? null;
}

export async function findMemberByEmail(
  tx: Tx,
  organisationId: string,
  email: string,
): Promise<MemberRow | null> {
  const row = await members(tx, organisationId)
    .where("app_user.email_key", "=", sql<string>`lower(${email}::text)`)
    .executeTakeFirst();
  return row ?? null;
}

/** How many owners the organisation has. Exact only under the organisation's lock. */
export async function countOwners(tx: Tx, organisationId: string): Promise<number> {
  const row = await tx
    .selectFrom("member")
    .select(sql<number>`count(*)::integer`.as("owners"))
    .where("organisation_id", "=", organisationId)
    .where("role", "=", "owner")
    .executeTakeFirstOrThrow();
  return row.owners;
}

export async function insertMember(
  tx: Database | Tx,
  values: { id: string; organisation_id: string; user_id: string; role: string },
): Promise<void> {
  await tx.insertInto("member").values(values).execute();
}

export async function updateMemberRole(
  tx: Tx,
  organisationId: string,
  id: string,
  role: string,
): Promise<void> {
  await tx
    .updateTable("member")
    .set({ role })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .execute();
}

export async function deleteMember(tx: Tx, organisationId: string, id: string): Promise<void> {
  await tx.deleteFrom("member").where("organisation_id", "=", organisationId).where("id", "=", id).execute();
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

/** Adds a user; null when somebody with that e-mail is there already. */
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

export type Membership = {
  readonly role: string;
  readonly id: string;
  readonly slug: string;
  readonly name: string;
};

/** The organisations a user belongs to, by name. */
export function listMemberships(db: Database | Tx, userId: string): Promise<Membership[]> {
  return systemQuery(db, "a login finds the organisations of its user")
    .selectFrom("member")
    .innerJoin("organisation", "organisation.id", "member.organisation_id")
    .select(["member.role", "organisation.id", "organisation.slug", "organisation.name"])
    .where("member.user_id", "=", userId)
    .orderBy("organisation.name")
    .orderBy("organisation.id")
    .execute();
}
