import type { Schemas } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Database, Tx } from "../../platform/database.ts";
import { fieldError, Invalid, Unauthorized } from "../../platform/errors.ts";
import { mutation, type Outcome } from "../../platform/mutation.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { storableText } from "../../platform/storable-text.ts";
import { issueSession, lastUsedOrganisation, type PersonProof, type UserRow } from "../account/index.ts";
import { listMemberships, type Membership } from "../members/index.ts";
import { findOrganisation, viewOrganisationRef } from "../organisations/index.ts";

const sessionSeconds = 12 * 3600;
const idleSeconds = 2 * 3600;
const maxUserAgentCharacters = 300;

export type OpenedBy = Schemas["LoginSession"]["opened_by"];

/** How a person has proven who they are. */
export type Opening = {
  readonly proof: PersonProof;
  readonly by: OpenedBy;
  /** The account at a provider that was the first step. */
  readonly identityId?: string | null;
  /** When that was, in seconds of the epoch, where it may be long ago; null: unknown. Left out: now. */
  readonly provenSeconds?: number | null;
  /** The answer when Postgres does not accept the proof. */
  readonly refusal?: string;
  /** More for the audit trail. */
  readonly details?: Readonly<Record<string, unknown>>;
};

/** The organisation of a new session: null for an operator without one. */
export type SessionPlace = { readonly organisation: Membership | null };

/**
 * The requested organisation, or the one that the user's sessions were used in last: joining another one does
 * not change it. Without an earlier session the first by name.
 *
 * @returns null for a user without an organisation who is no operator
 * @throws Invalid for an organisation that is not the user's
 */
export async function chooseSessionPlace(
  db: Database | Tx,
  user: Pick<UserRow, "id" | "is_operator">,
  wanted: string | undefined,
): Promise<SessionPlace | null> {
  const memberships = await listMemberships(db, user.id);
  if (memberships.length === 0 && !user.is_operator) return null;
  if (wanted === undefined) {
    const lastUsed = memberships.length < 2 ? null : await lastUsedOrganisation(db, user.id);
    return { organisation: memberships.find(({ id }) => id === lastUsed) ?? memberships[0] ?? null };
  }
  const chosen = memberships.find((each) => each.id === wanted);
  if (chosen === undefined)
    throw new Invalid([fieldError("/organisation_id", "not_found", "no such organisation")]);
  return { organisation: chosen };
}

/**
 * Opens a session for a person who has proven who they are, in one transaction with its audit row.
 *
 * @param also other checks of the same transaction, before the proof is accepted and after
 */
export function openSession(
  request: ApiRequest,
  user: UserRow,
  place: SessionPlace,
  opening: Opening,
  also: { readonly before?: (tx: Tx) => Promise<void>; readonly after?: (tx: Tx) => Promise<void> } = {},
): Promise<Reply> {
  return mutation(request, async (tx) => {
    await requireSamePassword(tx, user);
    await also.before?.(tx);
    const opened = await openSessionIn(tx, request, user, place, opening);
    await also.after?.(tx);
    return opened;
  });
}

/**
 * The same in the caller's transaction.
 *
 * @throws Unauthorized when Postgres does not accept the proof
 */
export async function openSessionIn(
  tx: Tx,
  request: ApiRequest,
  user: UserRow,
  place: { readonly organisation: { readonly id: string } | null },
  opening: Opening,
): Promise<Outcome> {
  const organisation = place.organisation === null ? null : await findOrganisation(tx, place.organisation.id);
  const issued = await issueSession(tx, opening.proof, {
    userId: user.id,
    organisationId: organisation?.id ?? null,
    lifetimeSeconds: sessionSeconds,
    idleSeconds,
    openedBy: opening.by,
    identityId: opening.identityId ?? null,
    ...(opening.provenSeconds === undefined ? {} : { provenSeconds: opening.provenSeconds }),
    userAgent: userAgentOf(request),
    sourceAddress: request.sourceAddress,
  });
  if (issued === null) throw new Unauthorized(opening.refusal ?? "what was shown does not hold any more");
  actAsUser(request, user);
  if (organisation !== null)
    request.established.organisation = {
      ...organisation,
      status: organisation.status === "suspended" ? "suspended" : "active",
    };
  return {
    reply: reply(200, {
      token: issued.secret,
      expires_at: issued.expiresAt.toISOString(),
      user: { id: user.id, email: user.email, name: user.name },
      organisation: organisation === null ? null : viewOrganisationRef(organisation),
    }),
    resource: issued.id,
    details: { opened_by: opening.by, ...opening.details },
  };
}

/** From here on the audit trail names this person. */
export function actAsUser(request: ApiRequest, user: UserRow): void {
  request.established.actor = { type: user.is_operator ? "operator" : "user", id: user.id, name: user.name };
}

/**
 * A change of the password ends all sessions, so a check from before it must open none: a concurrent login
 * waits here for the change and is refused.
 */
export async function requireSamePassword(tx: Tx, user: UserRow): Promise<void> {
  const now = await tx
    .selectFrom("app_user")
    .select("password_changed_at")
    .where("id", "=", user.id)
    .forShare()
    .executeTakeFirstOrThrow();
  if (now.password_changed_at?.getTime() !== user.password_changed_at?.getTime())
    throw new Unauthorized("the password was changed meanwhile");
}

function userAgentOf(request: ApiRequest): string | null {
  const given = request.context.req.header("User-Agent");
  return given === undefined ? null : storableText(given.slice(0, maxUserAgentCharacters));
}
