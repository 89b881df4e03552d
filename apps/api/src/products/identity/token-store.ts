import type { Token } from "@kule/database/generated/rows";
import { type Insertable, type Selectable, sql } from "kysely";
import { type Database, systemQuery, type Tx } from "../../platform/database.ts";
import { fetchPage, newestFirst, type Page } from "../../platform/pagination.ts";
import { mintToken, type TokenKind } from "../../platform/tokens.ts";
import type { Entry } from "./operators-entry.ts";
import type { PersonProof } from "./person-proof.ts";

export type TokenRow = Omit<
  Selectable<Token>,
  "secret_hash" | "opened_by" | "identity_id" | "user_agent" | "source_address" | "idle_seconds" | "proven_at"
>;

export const tokenColumns = [
  "token.id",
  "token.kind",
  "token.organisation_id",
  "token.user_id",
  "token.region",
  "token.name",
  "token.role",
  "token.scopes",
  "token.lifetime_seconds",
  "token.created_by",
  "token.created_at",
  "token.expires_at",
  "token.last_used_at",
  "token.revoked_at",
  "token.operator_reason",
] as const;

export type NewToken = {
  readonly kind: TokenKind;
  readonly name: string;
  readonly organisationId?: string | null;
  readonly userId?: string | null;
  readonly region?: string | null;
  readonly role?: string | null;
  readonly scopes?: readonly string[];
  /** Null: it does not expire. */
  readonly lifetimeSeconds: number | null;
  readonly createdBy?: string | null;
  /** Of an operator who enters an organisation by it. */
  readonly entry?: Entry | null;
  /** For operators' tokens that the API makes: whose secret it makes one for. Postgres looks itself. */
  readonly minter?: { readonly id: string; readonly secret: string };
};

export type IssuedToken = { readonly row: TokenRow; readonly secret: string };

/** Mints a token and stores all of it but the secret. Expiry is by Postgres' clock. */
export async function issueToken(connection: Database | Tx, token: NewToken): Promise<IssuedToken> {
  const minted = mintToken(token.kind);
  const { entry = null } = token;
  const lifetimeSeconds =
    entry === null
      ? token.lifetimeSeconds
      : Math.min(token.lifetimeSeconds ?? entry.maxSeconds, entry.maxSeconds);
  if (token.minter !== undefined) return issueOperatorToken(connection, token, token.minter, minted);
  const expiresAt =
    lifetimeSeconds === null
      ? null
      : sql<Date>`least(clock_timestamp() + make_interval(secs => ${lifetimeSeconds}), ${entry?.notAfter ?? null}::timestamptz)`;
  const values: Insertable<Token> = {
    id: minted.id,
    kind: token.kind,
    organisation_id: token.organisationId ?? null,
    user_id: token.userId ?? null,
    region: token.region ?? null,
    name: token.name,
    role: token.role ?? null,
    scopes: [...(token.scopes ?? [])],
    secret_hash: minted.hash,
    lifetime_seconds: lifetimeSeconds,
    created_by: token.createdBy ?? null,
    operator_reason: entry?.reason ?? null,
  };
  const row = await systemQuery(connection, "agent and operator tokens are of no organisation")
    .insertInto("token")
    .values({ ...values, expires_at: expiresAt })
    .returning(tokenColumns)
    .executeTakeFirstOrThrow();
  return { row, secret: minted.secret };
}

/** The API's role may not insert one; this looks whether the minter is an operator, whatever the API believes. */
async function issueOperatorToken(
  connection: Database | Tx,
  { userId, name, scopes, lifetimeSeconds, createdBy }: NewToken,
  minter: NonNullable<NewToken["minter"]>,
  { id, secret, hash }: ReturnType<typeof mintToken>,
): Promise<IssuedToken> {
  const operators = systemQuery(connection, "agent and operator tokens are of no organisation");
  await sql`select kule_mint_operator_token(${minter.id}, ${minter.secret}, ${id}, ${userId ?? null}, ${name},
    ${[...(scopes ?? [])]}::text[], ${hash}, ${lifetimeSeconds}::integer, ${createdBy ?? null})`.execute(
    operators,
  );
  const row = await operators
    .selectFrom("token")
    .select(tokenColumns)
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  return { row, secret };
}

/** How and where a session is opened, and how long it may be left alone. */
export type NewSession = {
  readonly userId: string;
  readonly organisationId: string | null;
  readonly lifetimeSeconds: number;
  readonly idleSeconds: number;
  readonly openedBy: string;
  /** The account at a provider that was its first step. */
  readonly identityId: string | null;
  /**
   * When the person last showed who they are, in seconds of the epoch by a provider's clock, which may be ahead of ours;
   * null: nobody knows. Left out: now.
   */
  readonly provenSeconds?: number | null;
  readonly userAgent: string | null;
  readonly sourceAddress: string | null;
};

export type IssuedSession = { readonly id: string; readonly secret: string; readonly expiresAt: Date };

/** The API's role may not insert one; Postgres takes the proof itself. Null when it is not the user's. */
export async function issueSession(
  tx: Tx,
  proof: PersonProof,
  session: NewSession,
): Promise<IssuedSession | null> {
  const { id, secret, hash } = mintToken("session");
  const values = {
    id,
    name: "session",
    secret_hash: hash.toString("hex"),
    user_id: session.userId,
    organisation_id: session.organisationId,
    lifetime_seconds: session.lifetimeSeconds,
    idle_seconds: session.idleSeconds,
    opened_by: session.openedBy,
    identity_id: session.identityId,
    is_proven: session.provenSeconds !== null,
    proven_seconds: session.provenSeconds ?? null,
    user_agent: session.userAgent,
    source_address: session.sourceAddress,
  };
  const { rows } = await sql<{ ends: Date | null }>`
    select kule_open_session(${JSON.stringify(proof)}::jsonb, ${JSON.stringify(values)}::jsonb) as ends`.execute(
    tx,
  );
  const ends = rows[0]?.ends ?? null;
  return ends === null ? null : { id, secret, expiresAt: ends };
}

/**
 * A session in another organisation, otherwise as the one that it follows, its end included. Null when that one has
 * ended meanwhile.
 */
export async function succeedSession(
  tx: Tx,
  proof: PersonProof,
  organisationId: string,
): Promise<IssuedSession | null> {
  const { id, secret, hash } = mintToken("session");
  const { rows } = await sql<{ ends: Date | null }>`
    select kule_succeed_session(${JSON.stringify(proof)}::jsonb, ${id}, ${hash}, ${organisationId}) as ends`.execute(
    tx,
  );
  const ends = rows[0]?.ends ?? null;
  return ends === null ? null : { id, secret, expiresAt: ends };
}

/** Which tokens somebody manages: an organisation's, the operators', or a region's agents'. */
export type TokenOwner =
  | { readonly kind: "organisation"; readonly organisationId: string }
  | { readonly kind: "operator" }
  | { readonly kind: "agent"; readonly region: string };

function tokensOf(connection: Database | Tx, owner: TokenOwner) {
  if (owner.kind === "organisation")
    return connection
      .selectFrom("token")
      .select(tokenColumns)
      .where("token.organisation_id", "=", owner.organisationId)
      .where("token.kind", "=", owner.kind);
  const tokens = systemQuery(connection, "agent and operator tokens are of no organisation")
    .selectFrom("token")
    .select(tokenColumns)
    .where("token.kind", "=", owner.kind);
  return owner.kind === "agent" ? tokens.where("token.region", "=", owner.region) : tokens;
}

export function listTokens(
  db: Database,
  owner: TokenOwner,
  query: { readonly limit?: number; readonly cursor?: string },
): Promise<Page<TokenRow>> {
  return fetchPage(tokensOf(db, owner), newestFirst(`tokens ${owner.kind}`, query, "token"));
}

export async function findToken(
  connection: Database | Tx,
  owner: TokenOwner,
  id: string,
): Promise<TokenRow | null> {
  const row = await tokensOf(connection, owner).where("token.id", "=", id).executeTakeFirst();
  return row ?? null;
}

/** The token, and whether it has ended by itself, as Postgres' clock says. */
export async function lockToken(
  tx: Tx,
  owner: TokenOwner,
  id: string,
): Promise<(TokenRow & { readonly is_expired: boolean }) | null> {
  const row = await tokensOf(tx, owner)
    .select(sql<boolean>`coalesce(token.expires_at <= clock_timestamp(), false)`.as("is_expired"))
    .where("token.id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

/** Ends a token now; every process is told. Revoking a revoked one changes nothing. */
export async function revokeTokenRow(tx: Tx, id: string): Promise<void> {
  await systemQuery(tx, "a token that was found by its owner is ended by its id")
    .updateTable("token")
    .set({ revoked_at: sql<Date>`clock_timestamp()` })
    .where("id", "=", id)
    .where("revoked_at", "is", null)
    .execute();
}

/** Lets a token end after the overlap, unless it ends earlier by itself. */
export async function expireTokenRow(tx: Tx, id: string, overlapSeconds: number): Promise<void> {
  await systemQuery(tx, "a token that was found by its owner is ended by its id")
    .updateTable("token")
    .set({
      expires_at: sql<Date>`least(expires_at, clock_timestamp() + make_interval(secs => ${overlapSeconds}))`,
    })
    .where("id", "=", id)
    .execute();
}

/** Ends what a user holds in an organisation: sessions and the tokens they minted. Returns how many. */
export async function revokeTokensOfUser(tx: Tx, organisationId: string, userId: string): Promise<number> {
  const rows = await tx
    .updateTable("token")
    .set({ revoked_at: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", organisationId)
    .where("user_id", "=", userId)
    .where("revoked_at", "is", null)
    .returning("id")
    .execute();
  return rows.length;
}

/** Ends what a person has minted, in all of their organisations and for operators. Returns how many. */
export async function revokeTokensMintedBy(tx: Tx, userId: string): Promise<number> {
  const rows = await systemQuery(tx, "a person's tokens are of all of their organisations")
    .updateTable("token")
    .set({ revoked_at: sql<Date>`clock_timestamp()` })
    .where("user_id", "=", userId)
    .where("kind", "in", ["organisation", "operator"])
    .where("revoked_at", "is", null)
    .returning("id")
    .execute();
  return rows.length;
}
