import type { Token } from "@kule/database/generated/rows";
import { type Insertable, type Selectable, sql } from "kysely";
import { type Database, systemQuery, type Tx } from "../../platform/database.ts";
import { fetchPage, newestFirst, type Page } from "../../platform/pagination.ts";
import { mintToken, type TokenKind } from "../../platform/tokens.ts";
import type { Entry } from "./operators-entry.ts";

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
  /** For operators' tokens that the API creates: the secret of the caller. Postgres checks it itself. */
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

/** The API's role may not insert one: a database function does, and checks that the minter is an operator. */
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

/** Whose tokens they are: an organisation's, the operators', or a region's agents'. */
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

/** The token, and whether it has expired, by Postgres' clock. */
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

/** Ends a token after the overlap, unless it expires earlier. */
export async function expireTokenRow(tx: Tx, id: string, overlapSeconds: number): Promise<void> {
  await systemQuery(tx, "a token that was found by its owner is ended by its id")
    .updateTable("token")
    .set({
      expires_at: sql<Date>`least(expires_at, clock_timestamp() + make_interval(secs => ${overlapSeconds}))`,
    })
    .where("id", "=", id)
    .execute();
}
