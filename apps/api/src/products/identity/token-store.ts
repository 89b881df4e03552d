import type { Token } from "@kule/database/generated/rows";
import { type Insertable, type Selectable, sql } from "kysely";
import { type Database, systemQuery, type Tx } from "../../platform/database.ts";
import { mintToken, type TokenKind } from "../../platform/tokens.ts";

export type TokenRow = Omit<Selectable<Token>, "secret_hash">;

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
};

export type IssuedToken = { readonly row: TokenRow; readonly secret: string };

/** Mints a token and stores all of it but the secret. Expiry is by Postgres' clock. */
export async function issueToken(connection: Database | Tx, token: NewToken): Promise<IssuedToken> {
  const minted = mintToken(token.kind);
  const expiresAt =
    token.lifetimeSeconds === null
      ? null
      : sql<Date>`clock_timestamp() + make_interval(secs => ${token.lifetimeSeconds})`;
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
    lifetime_seconds: token.lifetimeSeconds,
    created_by: token.createdBy ?? null,
  };
  const row = await systemQuery(connection, "agent and operator tokens are of no organisation")
    .insertInto("token")
    .values({ ...values, expires_at: expiresAt })
    .returning(tokenColumns)
    .executeTakeFirstOrThrow();
  return { row, secret: minted.secret };
}
