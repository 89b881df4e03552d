import { type OrganisationRole, permissionsOf } from "@kule/rules/identity/permissions";

export const accesses = ["all", "read", "chosen"] as const;
export type Access = (typeof accesses)[number];

/** The scopes that the form requests; null for none, which means all permissions of the role. */
export function typedScopes(form: URLSearchParams): readonly string[] | null {
  const access = accessOf(form.get("access"));
  if (access === "all") return null;
  return access === "read" ? ["*:read"] : form.getAll("scope");
}

export function accessOf(text: string | null | undefined): Access {
  return accesses.find((each) => each === text) ?? "all";
}

/** The choices: the permissions of the role, grouped by resource. */
export function scopeGroups(role: OrganisationRole): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const permission of [...permissionsOf(role)].sort()) {
    const [resource = ""] = permission.split(":");
    groups.set(resource, [...(groups.get(resource) ?? []), permission]);
  }
  return groups;
}
