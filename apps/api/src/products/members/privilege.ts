import { type Grant, type Granter, grantRefusal } from "@kule/rules/identity/grants";
import { effectivePermissions, type OrganisationRole, roleAtMost } from "@kule/rules/identity/permissions";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Forbidden } from "../../platform/errors.ts";
import { findMemberOfUser } from "./store.ts";

/** The role that bounds what the caller may grant, change or revoke. Operators act as owners do. */
export function ceilingOf(request: ApiRequest): OrganisationRole {
  const { caller } = request;
  return caller.isOperator ? "owner" : (caller.role ?? "billing");
}

/**
 * For revoking what another person has (a token, an invitation), which grants nothing.
 *
 * @throws Forbidden for a role above the caller's own
 */
export function requireRoleWithinReach(request: ApiRequest, role: string): void {
  const ceiling = ceilingOf(request);
  if (!roleAtMost(role as OrganisationRole, ceiling)) throw aboveCaller(request, ceiling, role);
}

/**
 * For everything that grants access: a role, an invitation, a token whose secret the caller gets; and for
 * changing or removing a member, whose role must not be above the caller's.
 *
 * @throws Forbidden for what is beyond the caller's role or scopes, naming the permissions that are too much
 */
export function requireGrantable(request: ApiRequest, ...grants: readonly Grant[]): void {
  requireGrantableBy(request, granterOf(request), grants);
}

/** Memberships of these roles as grants. */
export function memberships(...roles: readonly string[]): Grant[] {
  return roles.map((role) => ({ role: role as OrganisationRole, scopes: null }));
}

/**
 * The same under the organisation's lock, by the present role of the caller's user: a caller who has just
 * been removed, or has lost the role, can neither admit nor remove anyone.
 *
 * @throws Forbidden
 */
export async function requireStillGrantable(
  request: ApiRequest,
  tx: Tx,
  ...grants: readonly Grant[]
): Promise<void> {
  const { caller, operation, organisationId } = request;
  const granter = granterOf(request);
  if (caller.isOperator || caller.user === null) return requireGrantableBy(request, granter, grants);
  const membership = await findMemberOfUser(tx, organisationId, caller.user.id);
  if (membership === null) throw new Forbidden([operation.permission]);
  const roleNow = membership.role as OrganisationRole;
  const role = roleAtMost(roleNow, granter.role) ? roleNow : granter.role;
  const permissions: readonly string[] = effectivePermissions(role, granter.scopes);
  if (!permissions.includes(operation.permission)) throw new Forbidden([operation.permission]);
  requireGrantableBy(request, { ...granter, role }, grants);
}

function granterOf(request: ApiRequest): Granter {
  const { isOperator, scopes } = request.caller;
  return { role: ceilingOf(request), isOperator, scopes: scopes.length === 0 ? null : scopes };
}

function requireGrantableBy(request: ApiRequest, granter: Granter, grants: readonly Grant[]): void {
  for (const grant of grants) {
    const refusal = grantRefusal(granter, grant);
    if (refusal?.reason === "role") throw aboveCaller(request, refusal.highest, grant.role);
    if (refusal?.reason === "permissions") {
      const what = grant.scopes === null ? `the role ${grant.role}` : "the token";
      throw new Forbidden(refusal.missing, `${what} may do what you may not: ${refusal.missing.join(", ")}`);
    }
  }
}

function aboveCaller(request: ApiRequest, ceiling: string, role: string): Forbidden {
  return new Forbidden(
    [request.operation.permission],
    `a caller with the role ${ceiling} cannot give, change or take the role ${role}`,
  );
}
