import type { RequestQuery } from "@kule/contract/schemas";
import type { Invitation } from "@kule/database/generated/rows";
import { type Insertable, type Selectable, sql } from "kysely";
import { type Database, systemQuery, type Tx } from "../../platform/database.ts";
import { fetchPage, newestFirst, type Page } from "../../platform/pagination.ts";
import { sameHash } from "../../platform/tokens.ts";
import { parseInvitation } from "./invitation-secret.ts";

export type InvitationRow = Omit<Selectable<Invitation>, "secret_hash" | "email_key"> & {
  readonly status: "open" | "accepted" | "expired" | "revoked";
};

const columns = [
  "invitation.id",
  "invitation.organisation_id",
  "invitation.email",
  "invitation.role",
  "invitation.actor_type",
  "invitation.actor_id",
  "invitation.actor_name",
  "invitation.invited_by_user_id",
  "invitation.created_at",
  "invitation.expires_at",
  "invitation.accepted_at",
  "invitation.revoked_at",
] as const;

/** By Postgres' clock. What had expired before it was withdrawn had expired. */
const status = sql<InvitationRow["status"]>`case
  when invitation.accepted_at is not null then 'accepted'
  when invitation.expires_at <= coalesce(invitation.revoked_at, clock_timestamp()) then 'expired'
  when invitation.revoked_at is not null then 'revoked'
  else 'open' end`;

function invitations(connection: Database | Tx, organisationId: string) {
  return connection
    .selectFrom("invitation")
    .select(columns)
    .select(status.as("status"))
    .where("invitation.organisation_id", "=", organisationId);
}

export function listInvitations(
  db: Database,
  organisationId: string,
  query: RequestQuery<"listInvitations">,
): Promise<Page<InvitationRow>> {
  let rows = invitations(db, organisationId);
  if (query.status !== undefined)
    rows = rows.where(sql<boolean>`${status} = any (${[...query.status]}::text[])`);
  return fetchPage(rows, newestFirst("invitations", query, "invitation"));
}

export async function findInvitation(
  connection: Database | Tx,
  organisationId: string,
  id: string,
): Promise<InvitationRow | null> {
  const row = await invitations(connection, organisationId)
    .where("invitation.id", "=", id)
    .executeTakeFirst();
  return row ?? null;
}

export type OfferedInvitation = InvitationRow & {
  readonly organisation_slug: string;
  readonly organisation_name: string;
  readonly organisation_status: string;
};

/** The open invitation that the secret is of; null for whatever else the secret is. */
export async function findOffered(db: Database, secret: string): Promise<OfferedInvitation | null> {
  const parsed = parseInvitation(secret);
  if (parsed === null) return null;
  const row = await systemQuery(db, "an invitation's secret says itself which organisation it is of")
    .selectFrom("invitation")
    .innerJoin("organisation", "organisation.id", "invitation.organisation_id")
    .select(columns)
    .select(status.as("status"))
    .select([
      "invitation.secret_hash",
      "organisation.slug as organisation_slug",
      "organisation.name as organisation_name",
      "organisation.status as organisation_status",
    ])
    .where("invitation.id", "=", parsed.id)
    .executeTakeFirst();
  if (row === undefined || row.status !== "open") return null;
  const { secret_hash, ...offered } = row;
  return sameHash(secret_hash, parsed.hash) ? offered : null;
}

/** Adds an invitation. An expired one is replaced: a person has one open invitation to an organisation. */
export async function insertInvitation(
  tx: Tx,
  values: Omit<Insertable<Invitation>, "expires_at" | "email_key">,
  lifetimeDays: number,
): Promise<void> {
  const emailKey = sql<string>`lower(${values.email}::text)`;
  await tx
    .updateTable("invitation")
    .set({ revoked_at: sql<Date>`expires_at` })
    .where("organisation_id", "=", values.organisation_id)
    .where("email_key", "=", emailKey)
    .where("accepted_at", "is", null)
    .where("revoked_at", "is", null)
    .where("expires_at", "<=", sql<Date>`clock_timestamp()`)
    .execute();
  await tx
    .insertInto("invitation")
    .values({
      ...values,
      email_key: emailKey,
      expires_at: sql<Date>`clock_timestamp() + make_interval(days => ${lifetimeDays})`,
    })
    .execute();
}

/** The open invitation of that e-mail, whatever its case. */
export async function findOpenInvitation(
  tx: Tx,
  organisationId: string,
  email: string,
): Promise<InvitationRow | null> {
  const row = await invitations(tx, organisationId)
    .where("invitation.email_key", "=", sql<string>`lower(${email}::text)`)
    .where(sql<boolean>`${status} = 'open'`)
    .executeTakeFirst();
  return row ?? null;
}

/** Of the organisation's open invitations those that `which` is about; returns their ids. */
async function revokeOpen(
  tx: Tx,
  organisationId: string,
  which: {
    readonly id?: string;
    readonly userId?: string;
    readonly tokenId?: string;
    readonly roles?: readonly string[];
  },
): Promise<string[]> {
  let update = tx
    .updateTable("invitation")
    .set({ revoked_at: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", organisationId)
    .where("accepted_at", "is", null)
    .where("revoked_at", "is", null)
    .where("expires_at", ">", sql<Date>`clock_timestamp()`);
  if (which.id !== undefined) update = update.where("id", "=", which.id);
  if (which.userId !== undefined) update = update.where("invited_by_user_id", "=", which.userId);
  if (which.tokenId !== undefined)
    update = update.where("actor_type", "=", "token").where("actor_id", "=", which.tokenId);
  if (which.roles !== undefined) update = update.where("role", "in", [...which.roles]);
  return (await update.returning("id").execute()).map((row) => row.id);
}

/** Withdraws an invitation; one that is over stays as it is. */
export async function revokeInvitationRow(tx: Tx, organisationId: string, id: string): Promise<void> {
  await revokeOpen(tx, organisationId, { id });
}

/** A user's invitations end with their membership, or as far as their role no longer covers them. */
export function revokeInvitationsOfUser(
  tx: Tx,
  organisationId: string,
  userId: string,
  roles?: readonly string[],
): Promise<string[]> {
  if (roles?.length === 0) return Promise.resolve([]);
  return revokeOpen(tx, organisationId, { userId, ...(roles === undefined ? {} : { roles }) });
}

/** For the audit trail of what withdrew them. */
export function withdrawnNote(ids: readonly string[]): { readonly invitations_revoked?: readonly string[] } {
  return ids.length === 0 ? {} : { invitations_revoked: ids };
}

/** A token's invitations end when it is revoked. */
export function revokeInvitationsOfToken(tx: Tx, organisationId: string, tokenId: string): Promise<string[]> {
  return revokeOpen(tx, organisationId, { tokenId });
}

export async function acceptInvitationRow(tx: Tx, organisationId: string, id: string): Promise<void> {
  await tx
    .updateTable("invitation")
    .set({ accepted_at: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .execute();
}

/**
 * Deletes invitations that ended more than 30 days ago: data about people who did not join is not kept.
 * Returns how many.
 */
export async function deleteOldInvitations(connection: Database): Promise<number> {
  const gone = await systemQuery(connection, "the clean-up is of no one organisation")
    .deleteFrom("invitation")
    .where("expires_at", "<", sql<Date>`clock_timestamp() - interval '30 days'`)
    .executeTakeFirst();
  return Number(gone.numDeletedRows);
}
