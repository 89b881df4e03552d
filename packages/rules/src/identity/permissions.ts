/** The roles a member or a token can have in an organisation, from least to most. */
export const organisationRoles = ["billing", "viewer", "member", "admin", "owner"] as const;
export type OrganisationRole = (typeof organisationRoles)[number];

/** Roles that are not of one organisation: the installation's operators and the regions' agents. */
export type CallerRole = OrganisationRole | "operator" | "agent";

const billing = ["catalog:read", "organisation:read", "quota:read", "usage:read"] as const;
const viewer = [
  ...billing,
  "certificate:read",
  "domain:read",
  "firewall:read",
  "gateway:read",
  "job:read",
  "load_balancer:read",
  "member:read",
  "network:read",
  "public_ip:read",
  "server:read",
  "ssh_key:read",
] as const;
const member = [
  ...viewer,
  "certificate:create",
  "certificate:delete",
  "certificate:update",
  "domain:create",
  "domain:delete",
  "domain:update",
  "domain_record:update",
  "firewall:create",
  "firewall:delete",
  "firewall:update",
  "gateway:create",
  "gateway:delete",
  "gateway:update",
  "job:cancel",
  "job:retry",
  "load_balancer:write",
  "network:create",
  "network:delete",
  "network:update",
  "public_ip:create",
  "public_ip:delete",
  "public_ip:update",
  "server:console",
  "server:create",
  "server:delete",
  "server:password_reset",
  "server:rebuild",
  "server:update",
  "ssh_key:create",
  "ssh_key:delete",
  "ssh_key:update",
] as const;
const admin = [
  ...member,
  "audit:read",
  "domain:purge",
  "domain:unprotect",
  "member:manage",
  "public_ip:unprotect",
  "server:purge",
  "server:unprotect",
  "token:manage",
  "token:read",
] as const;
/** The content of a customer's machines is theirs: operating the installation gives no access to it. */
const notForOperators = ["server:console", "server:password_reset"] as const;
type NotForOperators = (typeof notForOperators)[number];
const isForOperators = (
  permission: (typeof admin)[number],
): permission is Exclude<typeof permission, NotForOperators> =>
  !(notForOperators as readonly string[]).includes(permission);
const operator = [
  ...admin.filter(isForOperators),
  "operator:drift",
  "operator:invariants",
  "operator:jobs",
  "operator:ip_pools",
  "operator:organisations",
  "operator:regions",
  "operator:servers",
] as const;
const agent = [
  "agent:consoles",
  "agent:health",
  "agent:inventory",
  "agent:jobs",
  "agent:load-balancers",
  "agent:releases",
] as const;

export type Permission = (typeof admin)[number] | (typeof operator)[number] | (typeof agent)[number];

const permissionsByRole: { readonly [role in CallerRole]: readonly Permission[] } = {
  billing,
  viewer,
  member,
  admin,
  // An owner differs from an admin in what an admin may not grant or revoke: see roleAtMost.
  owner: admin,
  operator,
  agent,
};

/** What a role may do, before any scopes. */
export function permissionsOf(role: CallerRole): readonly Permission[] {
  return permissionsByRole[role];
}

/** Every permission there is, of people, operators and agents. */
export function allPermissions(): readonly Permission[] {
  return [...new Set<Permission>([...admin, ...operator, ...agent])];
}

/** True if `role` is not above `limit`: no caller can grant, change or revoke a role above their own. */
export function roleAtMost(role: OrganisationRole, limit: OrganisationRole): boolean {
  return organisationRoles.indexOf(role) <= organisationRoles.indexOf(limit);
}

/** True if the scope (`server:create`, `server:*`, `*:read` or `*:*`) covers the permission. */
export function scopeCovers(scope: string, permission: string): boolean {
  const [scopeResource, scopeVerb, ...tooMuch] = scope.split(":");
  const [resource, verb] = permission.split(":");
  if (tooMuch.length > 0) return false;
  return (scopeResource === "*" || scopeResource === resource) && (scopeVerb === "*" || scopeVerb === verb);
}

/**
 * What a token may do: its role's permissions, limited to its scopes.
 *
 * @param scopes null stands for everything the role may; an empty list for nothing
 */
export function effectivePermissions(role: CallerRole, scopes: readonly string[] | null): Permission[] {
  const permissions = permissionsByRole[role];
  if (scopes === null) return [...permissions];
  return permissions.filter((permission) => scopes.some((scope) => scopeCovers(scope, permission)));
}

/** Scopes that cover no permission of the role: a token minted with them would not do what its maker thinks. */
export function uselessScopes(role: CallerRole, scopes: readonly string[]): string[] {
  const permissions = permissionsByRole[role];
  return scopes.filter((scope) => !permissions.some((permission) => scopeCovers(scope, permission)));
}
