import { describe, expect, test } from "vitest";
import { type Granter, grantRefusal } from "./grants.ts";
import { effectivePermissions, organisationRoles, permissionsOf } from "./permissions.ts";

const scopeLists = [
  null,
  [],
  ["member:manage"],
  ["token:*"],
  ["*:read"],
  ["*:read", "member:manage", "quota:*"],
  ["*:manage", "server:*"],
  ["*:*"],
];
const granters: Granter[] = [
  ...organisationRoles.map((role) => ({ role, isOperator: false })),
  { role: "owner" as const, isOperator: true },
].flatMap((who) => scopeLists.map((scopes) => ({ ...who, scopes })));

describe("a grant", () => {
  test("is allowed exactly when the role is not above the granter's and no permission is beyond its own", () => {
    let allowed = 0;
    for (const granter of granters)
      for (const [index, role] of organisationRoles.entries())
        for (const scopes of scopeLists) {
          const own: string[] = effectivePermissions(granter.role, granter.scopes);
          const expected =
            index <= organisationRoles.indexOf(granter.role) &&
            effectivePermissions(role, scopes).every((permission) => own.includes(permission));
          const refusal = grantRefusal(granter, { role, scopes });
          expect(refusal === null, JSON.stringify({ granter, role, scopes, refusal })).toBe(expected);
          if (expected) allowed += 1;
        }
    expect(allowed).toBeGreaterThan(100);
  });

  test("of a token that only manages members cannot be used: it has no permission to grant", () => {
    const granter: Granter = { role: "owner", isOperator: false, scopes: ["member:manage"] };
    for (const role of organisationRoles)
      expect(grantRefusal(granter, { role, scopes: null })).toMatchObject({ reason: "permissions" });
  });

  test("to operators is operators' alone, within their scopes", () => {
    const grant = { role: "operator", scopes: ["operator:regions"] } as const;
    const by = (isOperator: boolean, scopes: string[] | null) =>
      grantRefusal({ role: "owner", isOperator, scopes }, grant);
    expect(by(false, null)).toEqual({ reason: "role", highest: "owner" });
    expect(by(true, null)).toBeNull();
    expect(by(true, ["operator:*"])).toBeNull();
    expect(by(true, ["token:*"])).toEqual({ reason: "permissions", missing: ["operator:regions"] });
  });

  test("by an operator may include what is denied to operators themselves, but nothing beyond their scopes", () => {
    expect(permissionsOf("operator")).not.toContain("server:console");
    const owner = { role: "owner", scopes: null } as const;
    expect(grantRefusal({ role: "owner", isOperator: true, scopes: null }, owner)).toBeNull();
    expect(grantRefusal({ role: "owner", isOperator: true, scopes: ["member:manage"] }, owner)).toMatchObject(
      { reason: "permissions", missing: expect.arrayContaining(["server:console", "token:manage"]) },
    );
  });
});
