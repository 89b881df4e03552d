import type { Permission } from "@kule/rules/identity/permissions";
import { networkOf } from "./address-network.ts";
import type { ApiRequest } from "./api-request.ts";
import { bearerOf } from "./bearer.ts";
import { Forbidden, fieldError, Invalid, RateLimited, Unauthorized } from "./errors.ts";
import { isId } from "./ids.ts";
import type { Limit } from "./rate-limit.ts";

/** Agents have a region to run: whatever users do, their bucket is their own and ten times as large. */
const agentFactor = 10;

/**
 * Identifies the caller, and counts the request: for the token's owner, so that minting tokens or signing in
 * again raises no limit, and for their organisation, so that many people together get no more than their
 * share.
 *
 * @param headers gets the RateLimit headers
 * @throws Unauthorized without a valid token
 * @throws RateLimited when the caller's bucket is empty
 */
export async function authenticate(request: ApiRequest, headers: Record<string, string>): Promise<void> {
  const { settings, limiter, tokens } = request.deps;
  const usual: Limit = { perHour: settings.rateLimitPerHour, burst: settings.rateLimitBurst };
  const take = (key: string, limit: Limit) => {
    const allowance = limiter.take(key, limit);
    // Of several buckets the headers show the one with the least left.
    const told = Number(headers["RateLimit-Remaining"] ?? Number.POSITIVE_INFINITY);
    if (Number(allowance.headers["RateLimit-Remaining"]) < told || !allowance.allowed)
      Object.assign(headers, allowance.headers);
    if (!allowance.allowed) throw new RateLimited(allowance.retryAfterSeconds);
  };
  const address = request.sourceAddress;
  const byAddress = `address ${address === null ? "local" : networkOf(address)}`;

  if (request.operation.permission === "public") {
    // Probes of an orchestrator are not callers.
    if (request.operation.tag !== "meta") take(byAddress, usual);
    return;
  }
  const bearer = bearerOf(request);
  const caller = bearer === undefined ? null : await tokens.callerOf(bearer);
  if (caller === null) {
    take(byAddress, usual);
    throw new Unauthorized(bearer === undefined ? undefined : "the token is unknown, expired or revoked");
  }
  const isAgent = caller.kind === "agent";
  const who = isAgent ? `token ${caller.tokenId}` : `owner ${caller.owner}`;
  take(who, isAgent ? scaled(usual, agentFactor) : usual);
  if (caller.organisation !== null && !caller.isOperator)
    take(`organisation ${caller.organisation.id}`, {
      perHour: settings.organisationLimitPerHour,
      burst: settings.organisationLimitBurst,
    });
  request.established.caller = caller;
  request.established.organisation = caller.organisation;
}

/** @throws Forbidden naming what is missing */
export function requirePermission(request: ApiRequest): void {
  const { permission } = request.operation;
  if (permission === "public" || permission === "authenticated") return;
  // A token acts for a person, but only a session proves that the person is present: no token may change its
  // owner's password.
  if (permission === "session") {
    if (request.caller.kind === "session") return;
    throw new Forbidden([permission], "this needs a person's session (kule_ses_…), and this token is none");
  }
  if (!request.caller.permissions.has(permission)) throw new Forbidden([permission]);
}

/**
 * For what a part of a request needs beyond its operation's permission.
 *
 * @throws Forbidden naming all that is missing
 */
export function requirePermissions(request: ApiRequest, permissions: readonly Permission[]): void {
  const missing = permissions.filter((permission) => !request.caller.permissions.has(permission));
  if (missing.length > 0) throw new Forbidden(missing);
}

/**
 * Decides the organisation that the request acts in: the token's, or the one an operator names.
 *
 * @throws Invalid when an operator names none or an unknown one, or another caller names another than their
 * own
 */
export async function chooseOrganisation(request: ApiRequest, isOptional: boolean): Promise<void> {
  const { operation, established } = request;
  if (operation.permission === "public" || !operation.headerParameters.includes("Kule-Organisation")) {
    // Operations of the installation act in no organisation, for every caller.
    if (operation.permission.startsWith("operator:")) established.organisation = null;
    return;
  }
  const { caller } = request;
  const named = request.header("Kule-Organisation");
  if (named === undefined) {
    if (caller.organisation !== null || (caller.isOperator && isOptional)) return;
    throw wrongOrganisation("required", "is required: name the organisation to act in");
  }
  if (!caller.isOperator) {
    if (named === caller.organisation?.id) return;
    throw wrongOrganisation("not_found", "no such organisation");
  }
  const organisation = isId("org", named) ? await request.deps.tokens.organisation(named) : null;
  if (organisation === null) throw wrongOrganisation("not_found", "no such organisation");
  established.organisation = organisation;
}

function wrongOrganisation(code: "required" | "not_found", message: string): Invalid {
  return new Invalid([fieldError("Kule-Organisation", code, message)]);
}

function scaled(limit: Limit, factor: number): Limit {
  return { perHour: limit.perHour * factor, burst: limit.burst * factor };
}
