import {
  type CallerRole,
  effectivePermissions,
  type OrganisationRole,
  roleAtMost,
} from "@kule/rules/identity/permissions";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Forbidden } from "../../platform/errors.ts";
import { findMemberOfUser } from "./member-store.ts";

/** The role that bounds what the caller may give, change or take. Operators act as owners do. */
export function ceilingOf(request: ApiRequest): OrganisationRole {
  const { caller } = request;
  return caller.isOperator ? "owner" : (caller.role ?? "billing");
}

/** @throws Forbidden for a role above the caller's own */
export function requireRoleWithinReach(request: ApiRequest, role: string): void {
  const ceiling = ceilingOf(request);
  if (roleAtMost(role as OrganisationRole, ceiling)) return;
  throw new Forbidden(
    [request.operation.permission],
    `a caller with the role ${ceiling} cannot give, change or take the role ${role}`,
  );
}

/**
 * The same under the organisation's lock, by the role that the caller's user has by now: who has just been removed, or
 * has lost the role, lets nobody in and takes nobody out any more.
 *
 * @throws Forbidden
 */
export async function requireStillWithinReach(
  request: ApiRequest,
  tx: Tx,
  roles: readonly string[],
): Promise<void> {
  const { caller, operation, organisationId } = request;
  if (caller.isOperator || caller.user === null) return;
  const membership = await findMemberOfUser(tx, organisationId, caller.user.id);
  const roleNow = membership === null ? null : (membership.role as OrganisationRole);
  if (
    roleNow !== null &&
    effectivePermissions(roleNow, null).some((permission) => permission === operation.permission) &&
    roles.every((role) => roleAtMost(role as OrganisationRole, roleNow))
  )
    return;
  throw new Forbidden([operation.permission]);
}

/**
 * A token whose secret the caller gets may do nothing that the caller may not: otherwise a narrow token that can
 * manage tokens would be as good as an owner's.
 *
 * @param scopes empty for everything the role may
 * @throws Forbidden naming the permissions that are too much
 */
export function requirePermissionsWithinReach(
  request: ApiRequest,
  role: CallerRole,
  scopes: readonly string[],
): void {
  const wanted = effectivePermissions(role, scopes.length === 0 ? null : scopes);
  const { caller } = request;
  // What operators may not do themselves they may hand to an organisation's people, and the audit trail says so.
  const isWholeOperator = caller.isOperator && caller.scopes.length === 0;
  const given = isWholeOperator ? effectivePermissions("owner", null) : [];
  const mayGive = new Set<string>([...caller.permissions, ...given]);
  const tooMuch = wanted.filter((permission) => !mayGive.has(permission));
  if (tooMuch.length > 0)
    throw new Forbidden(tooMuch, `the token would be allowed what you are not: ${tooMuch.join(", ")}`);
}
