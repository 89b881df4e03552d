import type { RequestQuery } from "@kule/contract/schemas";
import { sql } from "kysely";
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
