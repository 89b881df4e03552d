import type { RequestQuery } from "@kule/contract/schemas";
import type { DB } from "@kule/database/generated/rows";
import { type ConsoleType, consoleLimits, type LiveSession } from "@kule/rules/consoles/console";
import { type Selectable, sql } from "kysely";
import { type Database, isTransaction, systemQuery, type Tx } from "../../platform/database.ts";
import { fetchPage, newestFirst, type Page } from "../../platform/pagination.ts";
import { replicaIsGone } from "./replica-store.ts";

export type SessionRow = Selectable<DB["console_session"]>;

const now = sql<Date>`clock_timestamp()`;
const byTicket = "a ticket says itself which session it is for";
const byRegion = "an agent's sessions are found by its region";
const byReplica = "a process looks after all sessions whose sockets it holds";

/** Held until the transaction ends: two concurrent tickets must not both find the last place free. */
export async function lockSessions(tx: Tx, organisationId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`console ${organisationId}`}, 0))`.execute(tx);
}

/**
 * A row that is not over: an expired ticket is over, and so is a session that was ended or that a lost
 * process held.
 */
const isLive = sql<boolean>`console_session.state <> 'closed' and console_session.end_reason is null
  and (console_session.state <> 'ticketed' or console_session.ticket_expires_at > clock_timestamp())
  and not (${replicaIsGone})`;

/** The organisation's sessions that are not over. */
export async function liveSessions(tx: Tx, organisationId: string): Promise<LiveSession[]> {
  const rows = await tx
    .selectFrom("console_session")
    .select(["id", "server_id", "type", "subject"])
    .where("organisation_id", "=", organisationId)
    .where(isLive)
    .orderBy("created_at")
    .execute();
  return rows.map((row) => ({
    id: row.id,
    serverId: row.server_id,
    type: row.type as ConsoleType,
    subject: row.subject,
  }));
}

/** A server's sessions that are not over, newest first. */
export function listLiveSessions(
  db: Database,
  organisationId: string,
  serverId: string,
  query: RequestQuery<"listServerConsoleSessions">,
): Promise<Page<SessionRow>> {
  const rows = db
    .selectFrom("console_session")
    .selectAll()
    .where("organisation_id", "=", organisationId)
    .where("server_id", "=", serverId)
    .where(isLive);
  return fetchPage(rows, newestFirst(`console-sessions ${serverId}`, query, "console_session"));
}

/** A session of the server that is not over; within a transaction under its row lock. */
export async function findLiveSession(
  connection: Database | Tx,
  organisationId: string,
  serverId: string,
  id: string,
): Promise<SessionRow | null> {
  const query = connection
    .selectFrom("console_session")
    .selectAll()
    .where("organisation_id", "=", organisationId)
    .where("server_id", "=", serverId)
    .where("id", "=", id)
    .where(isLive);
  return (await (isTransaction(connection) ? query.forUpdate() : query).executeTakeFirst()) ?? null;
}

/** Ends sessions: at once those that no process holds, the others as soon as their process is notified. */
export async function requestEnd(
  tx: Tx,
  organisationId: string,
  ids: readonly string[],
  reason: string,
): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .updateTable("console_session")
    .set({
      end_reason: reason,
      state: sql<string>`case when console_session.state = 'ticketed' then 'closed' else console_session.state end`,
      closed_at: sql<Date>`case when console_session.state = 'ticketed' then clock_timestamp() else console_session.closed_at end`,
      ticket_hash: null,
    })
    .where("organisation_id", "=", organisationId)
    .where("id", "in", ids)
    .where("state", "<>", "closed")
    .execute();
}

/** The session of a ticket, which is used up by this; null for every reason why it does not open one. */
export async function redeemTicket(
  db: Database,
  ticket: {
    readonly sessionId: string;
    readonly serverId: string;
    readonly type: ConsoleType;
    readonly hash: Buffer;
  },
  replicaId: string,
): Promise<SessionRow | null> {
  const row = await systemQuery(db, byTicket)
    .updateTable("console_session")
    .set({ state: "waiting", ticket_hash: null, replica_id: replicaId, redeemed_at: now })
    .where("id", "=", ticket.sessionId)
    .where("server_id", "=", ticket.serverId)
    .where("type", "=", ticket.type)
    .where("state", "=", "ticketed")
    .where("ticket_hash", "=", ticket.hash)
    .where("ticket_expires_at", ">", now)
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

/** The region's next waiting session under this claim; the same claim gets the same one. */
export async function takeWaiting(
  tx: Tx,
  claim: { readonly region: string; readonly claimId: string; readonly tokenId: string },
): Promise<SessionRow | null> {
  const sessions = systemQuery(tx, byRegion);
  const isFresh = sql<boolean>`console_session.redeemed_at > clock_timestamp() - make_interval(secs => ${consoleLimits.connectSeconds})`;
  const again = await sessions
    .selectFrom("console_session")
    .selectAll()
    .where("region", "=", claim.region)
    .where("claim_id", "=", claim.claimId)
    .where("state", "=", "claimed")
    .where(isFresh)
    .executeTakeFirst();
  if (again !== undefined) return again;
  const row = await sessions
    .updateTable("console_session")
    .set({ state: "claimed", claim_id: claim.claimId, agent_token_id: claim.tokenId, claimed_at: now })
    .where("id", "in", (query) =>
      query
        .selectFrom("console_session")
        .select("id")
        .where("region", "=", claim.region)
        .where("state", "=", "waiting")
        .where("end_reason", "is", null)
        .where(isFresh)
        .orderBy("redeemed_at")
        .limit(1)
        .forUpdate()
        .skipLocked(),
    )
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

/** A claimed session of the region whose other side has not connected yet. */
export async function findClaimed(db: Database, region: string, id: string): Promise<SessionRow | null> {
  const row = await systemQuery(db, byRegion)
    .selectFrom("console_session")
    .selectAll()
    .where("region", "=", region)
    .where("id", "=", id)
    .where("state", "=", "claimed")
    .executeTakeFirst();
  return row ?? null;
}

/** @returns false when it was over by then */
export async function markOpen(tx: Tx, session: SessionRow): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable("console_session")
    .set({ state: "open", opened_at: now })
    .where("organisation_id", "=", session.organisation_id)
    .where("id", "=", session.id)
    .where("state", "=", "claimed")
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** What the list of sessions shows of a session. */
export type Activity = {
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** How long ago a person last sent input; null when nobody has. */
  readonly inputAgeMs: number | null;
};

/** Writes the activity of sessions, in one statement for all of them. */
export async function noteActivity(
  db: Database,
  seen: readonly (Activity & { readonly row: Pick<SessionRow, "id" | "organisation_id"> })[],
): Promise<void> {
  if (seen.length === 0) return;
  await systemQuery(db, byReplica)
    .updateTable("console_session")
    .from(
      sql<{
        organisation_id: string;
        id: string;
        bytes_in: string;
        bytes_out: string;
        input_age: number | null;
      }>`unnest(${seen.map(({ row }) => row.organisation_id)}::text[], ${seen.map(({ row }) => row.id)}::text[],
           ${seen.map(({ bytesIn }) => bytesIn)}::bigint[], ${seen.map(({ bytesOut }) => bytesOut)}::bigint[],
           ${seen.map(({ inputAgeMs }) => (inputAgeMs === null ? null : inputAgeMs / 1000))}::float8[])`.as<"seen">(
        sql`seen (organisation_id, id, bytes_in, bytes_out, input_age)`,
      ),
    )
    .set({
      bytes_in: sql<string>`seen.bytes_in`,
      bytes_out: sql<string>`seen.bytes_out`,
      last_input_at: sql<Date | null>`clock_timestamp() - make_interval(secs => seen.input_age)`,
    })
    .whereRef("console_session.organisation_id", "=", "seen.organisation_id")
    .whereRef("console_session.id", "=", "seen.id")
    .where("console_session.state", "<>", "closed")
    .execute();
}

export type SessionEnd = {
  readonly reason: string;
  /** Null: the count that was written last is the best known. */
  readonly bytes: { readonly in: number; readonly out: number } | null;
};

/** @returns false when it was closed already */
export async function markClosed(
  db: Database | Tx,
  session: Pick<SessionRow, "id" | "organisation_id">,
  end: SessionEnd,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("console_session")
    .set({
      state: "closed",
      ticket_hash: null,
      end_reason: end.reason,
      closed_at: now,
      ...(end.bytes === null ? {} : { bytes_in: String(end.bytes.in), bytes_out: String(end.bytes.out) }),
    })
    .where("organisation_id", "=", session.organisation_id)
    .where("id", "=", session.id)
    .where("state", "<>", "closed")
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** What the database says about whether the sessions that a process holds may continue. */
export function heldSessions(db: Database, replicaId: string) {
  return systemQuery(db, byReplica)
    .selectFrom("console_session")
    .innerJoin("server", "server.id", "console_session.server_id")
    .innerJoin("organisation", "organisation.id", "console_session.organisation_id")
    .selectAll("console_session")
    .select([
      sql<boolean>`console_session.redeemed_at < clock_timestamp() - interval '20 seconds'`.as("is_settled"),
      "server.status as server_status",
      sql<boolean>`server.locked_reason is not null`.as("is_locked"),
      "organisation.status as organisation_status",
    ])
    .where("console_session.replica_id", "=", replicaId)
    .where("console_session.state", "<>", "closed")
    .execute();
}

const forAll = "the clean-up is of no one organisation";

/**
 * Ends abandoned sessions: those whose tickets were never presented, and those of processes that are gone.
 */
export async function closeAbandoned(tx: Tx): Promise<SessionRow[]> {
  return systemQuery(tx, forAll)
    .updateTable("console_session")
    .set({
      state: "closed",
      ticket_hash: null,
      closed_at: now,
      end_reason: sql<string>`case when console_session.state = 'ticketed' then 'expired' else 'lost' end`,
    })
    .where("state", "<>", "closed")
    .where(
      sql<boolean>`((console_session.state = 'ticketed' and console_session.ticket_expires_at < clock_timestamp()) or ${replicaIsGone})`,
    )
    .returningAll()
    .execute();
}

/**
 * Deletes sessions that ended more than a month ago (the audit trail has them), and processes that are long
 * gone.
 */
export async function deleteOldSessions(db: Database): Promise<number> {
  const old = await systemQuery(db, forAll)
    .deleteFrom("console_session")
    .where("closed_at", "<", sql<Date>`clock_timestamp() - interval '30 days'`)
    .executeTakeFirst();
  await db
    .deleteFrom("replica")
    .where("seen_at", "<", sql<Date>`clock_timestamp() - interval '1 hour'`)
    .execute();
  return Number(old.numDeletedRows);
}
