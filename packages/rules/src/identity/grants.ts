import { type CallerRole, effectivePermissions, type OrganisationRole, roleAtMost } from "./permissions.ts";

/** A caller who grants access. */
export type Granter = {
  /** In the organisation it acts in; operators count as its owners. */
  readonly role: OrganisationRole;
  readonly isOperator: boolean;
  /** Null: everything the role may. */
  readonly scopes: readonly string[] | null;
};

/** Granted access: a membership (its scopes are null), or a token's. */
export type Grant = {
  readonly role: OrganisationRole | "operator";
  readonly scopes: readonly string[] | null;
};

export type GrantRefusal =
  | { readonly reason: "role"; readonly highest: OrganisationRole }
  | { readonly reason: "permissions"; readonly missing: readonly string[] };

/**
 * Why a grant is refused, or null: it must be within the granter's role and within its scopes. The same
 * applies to changing or removing a member: they must have nothing that the granter could not grant.
 */
export function grantRefusal(granter: Granter, grant: Grant): GrantRefusal | null {
  const highest = granter.isOperator ? "owner" : granter.role;
  if (grant.role === "operator" ? !granter.isOperator : !roleAtMost(grant.role, highest))
    return { reason: "role", highest };
  const own = new Set<string>(permissionsToHandOn(granter));
  const missing = effectivePermissions(grant.role, grant.scopes).filter((permission) => !own.has(permission));
  return missing.length === 0 ? null : { reason: "permissions", missing };
}

/**
 * Operators may grant people of an organisation what they may not do there themselves, as far as their scopes
 * reach.
 */
function permissionsToHandOn({ role, isOperator, scopes }: Granter): string[] {
  const roles: readonly CallerRole[] = isOperator ? ["operator", "owner"] : [role];
  return roles.flatMap((each) => effectivePermissions(each, scopes));
}
