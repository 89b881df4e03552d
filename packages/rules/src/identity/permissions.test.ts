import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  allPermissions,
  effectivePermissions,
  organisationRoles,
  permissionsOf,
  roleAtMost,
  scopeCovers,
  uselessScopes,
} from "./permissions.ts";

describe("roles", () => {
  test("each role may everything that the roles below it may", () => {
    for (const [rank, role] of organisationRoles.entries())
      for (const lower of organisationRoles.slice(0, rank))
        expect(permissionsOf(role)).toEqual(expect.arrayContaining([...permissionsOf(lower)]));
  });

  test("billing sees what is ordered and used, and no infrastructure", () => {
    expect([...permissionsOf("billing")].sort()).toEqual([
      "catalog:read",
      "organisation:read",
      "quota:read",
      "usage:read",
    ]);
  });

  test("a viewer changes nothing", () => {
    expect(permissionsOf("viewer").every((permission) => permission.endsWith(":read"))).toBe(true);
    expect(permissionsOf("viewer")).not.toContain("token:read");
    expect(permissionsOf("viewer")).not.toContain("audit:read");
  });

  test.each(["audit:read", "member:manage", "token:manage", "token:read"] as const)(
    "%s begins with admin",
    (permission) => {
      expect(permissionsOf("member")).not.toContain(permission);
      expect(permissionsOf("admin")).toContain(permission);
      expect(permissionsOf("owner")).toContain(permission);
    },
  );

  test("only operators may what is of the installation, and only agents what is an agent's", () => {
    for (const role of organisationRoles)
      expect(permissionsOf(role).filter((permission) => /^(operator|agent):/.test(permission))).toEqual([]);
    expect(permissionsOf("operator")).toContain("operator:regions");
    expect(permissionsOf("operator").filter((permission) => permission.startsWith("agent:"))).toEqual([]);
    expect([...permissionsOf("agent")]).toEqual([
      "agent:consoles",
      "agent:health",
      "agent:inventory",
      "agent:jobs",
      "agent:load-balancers",
      "agent:releases",
    ]);
  });

  test("operators have no access to customers' machines; members have", () => {
    expect(permissionsOf("operator")).not.toContain("server:console");
    expect(permissionsOf("member")).toContain("server:console");
    expect(permissionsOf("viewer")).not.toContain("server:console");
  });

  test("no role lists a permission twice", () => {
    for (const role of [...organisationRoles, "operator", "agent"] as const)
      expect(new Set(permissionsOf(role)).size).toBe(permissionsOf(role).length);
  });

  test("a role above one's own cannot be granted", () => {
    expect(roleAtMost("owner", "admin")).toBe(false);
    expect(roleAtMost("admin", "admin")).toBe(true);
    expect(roleAtMost("viewer", "member")).toBe(true);
    expect(roleAtMost("member", "viewer")).toBe(false);
  });
});

describe("scopes", () => {
  test.each([
    ["server:create", "server:create", true],
    ["server:create", "server:read", false],
    ["server:*", "server:delete", true],
    ["server:*", "ssh_key:delete", false],
    ["*:read", "usage:read", true],
    ["*:read", "server:create", false],
    ["*:*", "job:retry", true],
    ["server", "server:read", false],
    ["server:read:more", "server:read", false],
    ["serve:*", "server:read", false],
  ])("%s covers %s: %s", (scope, permission, expected) => {
    expect(scopeCovers(scope, permission)).toBe(expected);
  });

  test("without scopes a token may what its role may, with an empty list nothing", () => {
    expect(effectivePermissions("member", null)).toEqual([...permissionsOf("member")]);
    expect(effectivePermissions("member", [])).toEqual([]);
  });

  test("scopes never add to a role", () => {
    const scope = fc.oneof(
      fc.constantFrom(...allPermissions()),
      fc.constantFrom("*:*", "*:read", "server:*", "operator:*", "agent:*", "token:*"),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.constantFrom(...organisationRoles), fc.array(scope), (role, scopes) => {
        expect(permissionsOf(role)).toEqual(expect.arrayContaining([...effectivePermissions(role, scopes)]));
      }),
    );
  });

  test("more scopes never mean less", () => {
    const scope = fc.constantFrom(...allPermissions(), "*:read", "server:*", "*:*");
    fc.assert(
      fc.property(fc.constantFrom(...organisationRoles), fc.array(scope), scope, (role, scopes, more) => {
        const before = effectivePermissions(role, scopes);
        expect(effectivePermissions(role, [...scopes, more])).toEqual(expect.arrayContaining(before));
      }),
    );
  });

  test("a scope that covers nothing of the role is named", () => {
    expect(uselessScopes("viewer", ["server:create", "*:read", "nonsense:read"])).toEqual([
      "server:create",
      "nonsense:read",
    ]);
  });
});
