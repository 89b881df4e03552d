import type { Schemas } from "@kule/contract/schemas";
import { effectivePermissions, type OrganisationRole, roleAtMost } from "@kule/rules/identity/permissions";
import { sql } from "kysely";
import { type Database, systemQuery } from "./database.ts";
import type { ParsedToken, TokenKind } from "./tokens.ts";

export type Organisation = {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly status: "active" | "suspended";
};

/**
 * The caller and their permissions. Built from the token's row alone; requests only add the acting
 * organisation.
 */
export type Caller = {
  readonly kind: TokenKind;
  readonly tokenId: string;
  readonly tokenName: string;
  readonly scopes: readonly string[];
  readonly expiresAt: Date | null;
  /** Of a token by which an operator has entered the organisation. */
  readonly operatorReason: string | null;
  readonly actor: Schemas["Actor"] & { readonly id: string };
  /** The user of a session, or the one an operator token is for. */
  readonly user: Schemas["UserRef"] | null;
  readonly role: OrganisationRole | null;
  readonly isOperator: boolean;
  readonly permissions: ReadonlySet<string>;
  /** The region an agent token is bound to. */
  readonly region: string | null;
  /** The token's own organisation. */
  readonly organisation: Organisation | null;
  /** The owner of the idempotency keys: a user has the same ones in the next session. */
  readonly subject: string;
  /**
   * The owner of the rate limit: the person behind the token, without one its organisation, or the token
   * alone.
   */
  readonly owner: string;
};

export type StoredCaller = {
  readonly caller: Caller;
  readonly secretHash: Buffer;
  /**
   * The time that is left of the token by Postgres' clock, which alone decides when it ends. Null: it does
   * not end.
   */
  readonly leftMs: number | null;
};

/** When a token ends: at its time, or earlier when it is a session that has been idle for too long. */
export const tokenEndsAt = sql<Date | null>`least(
  token.expires_at,
  coalesce(token.last_used_at, token.created_at) + make_interval(secs => token.idle_seconds))`;

/**
 * Reads the token and everything that decides its rights, in one statement. Null when it is unknown, revoked,
 * expired, or what it depends on is gone (a session whose user left the organisation).
 */
export async function findCaller(db: Database, token: ParsedToken): Promise<StoredCaller | null> {
  const row = await systemQuery(db, "a token says itself which organisation it is of")
    .selectFrom("token")
    .leftJoin("organisation", "organisation.id", "token.organisation_id")
    .leftJoin("app_user", "app_user.id", "token.user_id")
    .leftJoin("member", (join) =>
      join
        .onRef("member.user_id", "=", "token.user_id")
        .onRef("member.organisation_id", "=", "token.organisation_id"),
    )
    .select([
      "token.kind",
      "token.name",
      "token.role",
      "token.scopes",
      "token.operator_reason",
      "token.region",
      "token.secret_hash",
      "token.expires_at",
      sql<number | null>`(extract(epoch from ${tokenEndsAt} - clock_timestamp()) * 1000)::float8`.as(
        "left_ms",
      ),
      "token.user_id",
      "organisation.id as organisation_id",
      "organisation.slug as organisation_slug",
      "organisation.name as organisation_name",
      "organisation.status as organisation_status",
      "app_user.email as user_email",
      "app_user.name as user_name",
      "app_user.is_operator",
      "member.role as member_role",
    ])
    .where("token.id", "=", token.id)
    .where("token.kind", "=", token.kind)
    .where("token.revoked_at", "is", null)
    .executeTakeFirst();
  if (row === undefined || (row.left_ms !== null && row.left_ms <= 0)) return null;

  const user =
    row.user_id === null ? null : { id: row.user_id, email: row.user_email ?? "", name: row.user_name ?? "" };
  const organisation: Organisation | null =
    row.organisation_id === null
      ? null
      : {
          id: row.organisation_id,
          slug: row.organisation_slug ?? "",
          name: row.organisation_name ?? "",
          status: row.organisation_status === "suspended" ? "suspended" : "active",
        };
  const isOperator =
    token.kind === "operator"
      ? user === null || row.is_operator === true
      : token.kind === "session" && row.is_operator === true;
  const role = roleOf(
    token.kind,
    row.role as OrganisationRole | null,
    row.member_role as OrganisationRole | null,
    user !== null,
  );
  if (token.kind === "operator" && !isOperator) return null;
  if (token.kind === "session" && role === null && !isOperator) return null;
  if (token.kind === "organisation" && role === null) return null;

  const scopes = row.scopes.length === 0 ? null : row.scopes;
  const actingRole = isOperator ? "operator" : token.kind === "agent" ? "agent" : role;
  if (actingRole === null) return null;
  return {
    secretHash: row.secret_hash,
    leftMs: row.left_ms,
    caller: {
      kind: token.kind,
      tokenId: token.id,
      tokenName: row.name,
      scopes: row.scopes,
      expiresAt: row.expires_at,
      operatorReason: row.operator_reason,
      actor: actorOf(token, row.name, user, isOperator),
      user,
      role,
      isOperator,
      permissions: new Set(effectivePermissions(actingRole, scopes)),
      region: row.region,
      organisation,
      subject: token.kind === "session" && user !== null ? user.id : token.id,
      owner: user?.id ?? organisation?.id ?? token.id,
    },
  };
}

/** The role that counts. A token that a member minted never may more than that member may now. */
function roleOf(
  kind: TokenKind,
  tokenRole: OrganisationRole | null,
  memberRole: OrganisationRole | null,
  hasUser: boolean,
): OrganisationRole | null {
  if (kind === "session") return memberRole;
  if (kind !== "organisation" || tokenRole === null) return null;
  if (!hasUser) return tokenRole;
  if (memberRole === null) return null;
  return roleAtMost(tokenRole, memberRole) ? tokenRole : memberRole;
}

function actorOf(
  token: ParsedToken,
  tokenName: string,
  user: Schemas["UserRef"] | null,
  isOperator: boolean,
): Caller["actor"] {
  if (token.kind === "session" && user !== null)
    return { type: isOperator ? "operator" : "user", id: user.id, name: user.name };
  const type = token.kind === "agent" ? "agent" : token.kind === "operator" ? "operator" : "token";
  return { type, id: token.id, name: tokenName };
}
