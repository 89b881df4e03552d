import type { OrganisationRole } from "@kule/rules/identity/permissions";
import { invalidState } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, NotFound } from "../../platform/errors.ts";
import { mutation, type Outcome } from "../../platform/mutation.ts";
import { noContent, type Reply, reply } from "../../platform/reply.ts";
import { requireProofOfSession, revokeTokenRow } from "../account/index.ts";
import {
  requireGrantable,
  requireRoleWithinReach,
  revokeInvitationsOfToken,
  withdrawnNote,
} from "../members/index.ts";
import { lockOrganisation } from "../organisations/index.ts";
import { minterOf } from "./minter.ts";
import { type Entry, entryOf } from "./operators-entry.ts";
import { expireTokenRow, issueToken, lockToken, type TokenOwner } from "./store.ts";
import { viewToken } from "./view.ts";

type LockedToken = NonNullable<Awaited<ReturnType<typeof lockToken>>>;

/** Ends a token. It is refused here from now on and everywhere within a second. */
export async function endToken(request: ApiRequest, owner: TokenOwner, id: string): Promise<Reply> {
  const answer = await mutation(request, async (tx): Promise<Outcome> => {
    const token = await lockedToken(tx, owner, id);
    if (token.role !== null) requireRoleWithinReach(request, token.role);
    const organisationId = token.organisation_id;
    // In one order with those who accept what the token has invited to.
    if (organisationId !== null) await lockOrganisation(tx, organisationId);
    await revokeTokenRow(tx, id);
    const withdrawn = organisationId === null ? [] : await revokeInvitationsOfToken(tx, organisationId, id);
    return {
      reply: noContent(),
      resource: id,
      details: { name: token.name, ...withdrawnNote(withdrawn) },
    };
  });
  request.deps.tokens.dropCallers();
  return answer;
}

/**
 * Replaces a token by a successor with the same name, rights and lifetime.
 *
 * @param overlapSeconds how long the old one stays valid; 0 ends it at once
 * @param more why an operator enters the organisation by it
 */
export async function replaceToken(
  request: ApiRequest,
  owner: TokenOwner,
  id: string,
  overlapSeconds: number,
  more: { readonly reason?: string | undefined } = {},
): Promise<Reply> {
  const answer = await mutation(request, async (tx): Promise<Outcome> => {
    const token = await lockedToken(tx, owner, id);
    if (token.kind !== "agent")
      requireGrantable(request, {
        role: (token.role as OrganisationRole | null) ?? "operator",
        scopes: token.scopes.length === 0 ? null : token.scopes,
      });
    requireLive(token);
    await requireProofOfSession(request, tx);
    const entry = token.kind === "organisation" ? entryOf(request, more) : null;
    const { row, secret } = await issueToken(tx, {
      kind: owner.kind,
      name: token.name,
      organisationId: token.organisation_id,
      // The caller who rotates gets the secret, so the successor is theirs: it ends with their membership and
      // not with that of a colleague who has never seen it. Tokens of no person (agents' too) stay so.
      userId: request.caller.role === null ? token.user_id : (request.caller.user?.id ?? token.user_id),
      region: token.region,
      role: token.role,
      scopes: token.scopes,
      lifetimeSeconds: token.lifetime_seconds,
      createdBy: request.caller.actor.id,
      entry: entry ?? keptEntry(token),
      ...(owner.kind === "operator" && { minter: minterOf(request) }),
    });
    if (overlapSeconds === 0) await revokeTokenRow(tx, id);
    else await expireTokenRow(tx, id, overlapSeconds);
    return {
      reply: reply(201, { token: viewToken(row), secret }),
      resource: id,
      details: { successor: row.id, ...(entry === null ? {} : { operator_reason: entry.reason }) },
      secretFields: ["secret"],
    };
  });
  request.deps.tokens.dropCallers();
  return answer;
}

async function lockedToken(tx: Tx, owner: TokenOwner, id: string): Promise<LockedToken> {
  const token = await lockToken(tx, owner, id);
  if (token === null) throw new NotFound();
  return token;
}

/** A token for an operator's entry keeps its own end, whoever rotates it. */
function keptEntry({ operator_reason: reason, expires_at: notAfter }: LockedToken): Entry | null {
  return reason === null ? null : { reason, maxSeconds: 86_400, notAfter };
}

function requireLive(token: LockedToken): void {
  if (token.revoked_at === null && !token.is_expired) return;
  const status = token.is_expired ? "expired" : "revoked";
  throw new Conflict(
    invalidState("token_is_live", `the token is ${status}; mint a new one`, {
      resource: token.id,
    }),
    status,
  );
}
