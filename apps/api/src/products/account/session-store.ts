import { sql } from "kysely";
import { tokenEndsAt } from "../../platform/caller.ts";
import { type Database, systemQuery, type Tx } from "../../platform/database.ts";

/** A person's sessions are of all of their organisations, so these queries name the person instead. */
const ofPerson = "a person's sessions are of all of their organisations";

export type SessionRow = {
  readonly id: string;
  readonly opened_by: string | null;
  readonly issuer: string | null;
  readonly user_agent: string | null;
  readonly source_address: string | null;
  readonly created_at: Date;
  readonly last_used_at: Date | null;
  readonly expires_at: Date | null;
  readonly organisation_id: string | null;
  readonly organisation_slug: string | null;
  readonly organisation_name: string | null;
};

const maxShown = 100;

/**
 * Sessions that can authenticate a request now: neither ended nor idle for too long, and of an organisation
 * that the person still belongs to.
 */
function liveSessions(db: Database | Tx, userId: string) {
  return systemQuery(db, ofPerson)
    .selectFrom("token")
    .innerJoin("app_user", "app_user.id", "token.user_id")
    .leftJoin("user_identity", "user_identity.id", "token.identity_id")
    .leftJoin("organisation", "organisation.id", "token.organisation_id")
    .leftJoin("member", (join) =>
      join
        .onRef("member.user_id", "=", "token.user_id")
        .onRef("member.organisation_id", "=", "token.organisation_id"),
    )
    .select([
      "token.id",
      "token.opened_by",
      "user_identity.issuer",
      "token.user_agent",
      "token.source_address",
      "token.created_at",
      "token.last_used_at",
      "token.expires_at",
      "organisation.id as organisation_id",
      "organisation.slug as organisation_slug",
      "organisation.name as organisation_name",
    ])
    .where("token.user_id", "=", userId)
    .where("token.kind", "=", "session")
    .where("token.revoked_at", "is", null)
    .where(tokenEndsAt, ">", sql<Date>`clock_timestamp()`)
    .where((is) => is.or([is("member.id", "is not", null), is("app_user.is_operator", "=", true)]));
}

export function listSessions(db: Database, userId: string): Promise<SessionRow[]> {
  return liveSessions(db, userId)
    .orderBy("token.created_at", "desc")
    .orderBy("token.id", "desc")
    .limit(maxShown)
    .execute();
}

export async function findSession(db: Database, userId: string, id: string): Promise<SessionRow | null> {
  const row = await liveSessions(db, userId).where("token.id", "=", id).executeTakeFirst();
  return row ?? null;
}

/**
 * Ends a person's sessions in all of their organisations, except the one given. Returns how many.
 *
 * @param openedBy only those that this account at a provider has opened
 */
export async function revokeSessionsOfUser(
  tx: Tx,
  userId: string,
  keptId: string | null,
  openedBy?: string,
): Promise<number> {
  let update = systemQuery(tx, ofPerson)
    .updateTable("token")
    .set({ revoked_at: sql<Date>`clock_timestamp()` })
    .where("user_id", "=", userId)
    .where("kind", "=", "session")
    .where("revoked_at", "is", null)
    .where(tokenEndsAt, ">", sql<Date>`clock_timestamp()`);
  if (keptId !== null) update = update.where("id", "<>", keptId);
  if (openedBy !== undefined) update = update.where("identity_id", "=", openedBy);
  return (await update.returning("id").execute()).length;
}

/**
 * The organisation that a session of the person was used in last, ended ones too, among those they still belong to.
 * Uses are noted to the minute, so of two in one minute the session that was opened later counts.
 */
export async function lastUsedOrganisation(db: Database | Tx, userId: string): Promise<string | null> {
  const row = await systemQuery(db, ofPerson)
    .selectFrom("token")
    .innerJoin("member", (join) =>
      join
        .onRef("member.user_id", "=", "token.user_id")
        .onRef("member.organisation_id", "=", "token.organisation_id"),
    )
    .select("token.organisation_id")
    .where("token.user_id", "=", userId)
    .where("token.kind", "=", "session")
    .orderBy(sql`date_trunc('minute', coalesce(token.last_used_at, token.created_at))`, "desc")
    .orderBy("token.id", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.organisation_id ?? null;
}

/** For a changed password: sign-ins that began with the old one cannot be completed. */
export async function endSignInsOfUser(tx: Tx, userId: string): Promise<void> {
  await tx.deleteFrom("sign_in").where("user_id", "=", userId).execute();
}
