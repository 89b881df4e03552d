import { describe, expect, test } from "vitest";
import {
  type DomainAction,
  type DomainState,
  type DomainStatus,
  decideDomainAction,
  dependentsRefusal,
  isProven,
} from "./lifecycle.ts";

const domain = (status: DomainStatus, more: Partial<DomainState> = {}): DomainState => ({
  id: "dom_1",
  name: "example.com",
  status,
  isProtected: false,
  hasOpenJob: false,
  verifiedBy: isProven(status) ? "record" : null,
  ...more,
});
const codeOf = (action: DomainAction, status: DomainStatus, more: Partial<DomainState> = {}) =>
  decideDomainAction(action, domain(status, more))?.code ?? null;

const unproven = ["pending", "expired", "lost"] as const;
const served = ["provisioning", "active", "updating", "error"] as const;

describe("what can be done with a domain", () => {
  test("is little until it is proven", () => {
    for (const status of unproven) expect(isProven(status)).toBe(false);
    expect(codeOf("change", "pending")).toBeNull();
    expect(codeOf("verify", "pending")).toBeNull();
    for (const action of ["apply", "set_dnssec"] as const) {
      expect(codeOf(action, "pending")).toBe("domain_not_proven");
      expect(codeOf(action, "expired")).toBe("domain_not_proven");
      expect(codeOf(action, "lost")).toBe("domain_taken");
    }
  });

  test("is everything but a proof and an undo once it is", () => {
    for (const status of served) {
      for (const action of ["change", "apply", "set_dnssec", "delete", "purge"] as const)
        expect(codeOf(action, status)).toBeNull();
      expect(codeOf("verify", status)).toBe("invalid_state");
      expect(codeOf("cancel_deletion", status)).toBe("invalid_state");
    }
  });

  test("is an undo or a purge in the removal buffer", () => {
    for (const action of ["change", "apply", "set_dnssec", "delete"] as const)
      expect(decideDomainAction(action, domain("pending_deletion"))).toMatchObject({
        code: "resource_deleting",
        fix: "POST /domains/dom_1/cancel-deletion",
      });
    expect(codeOf("cancel_deletion", "pending_deletion")).toBeNull();
    expect(codeOf("purge", "pending_deletion")).toBeNull();
  });

  test("is nothing while it is removed, and the removal again when its job has failed", () => {
    for (const action of ["change", "apply", "set_dnssec", "delete", "purge"] as const)
      expect(codeOf(action, "deleting", { hasOpenJob: true })).toBe("resource_deleting");
    expect(codeOf("delete", "deleting")).toBeNull();
    expect(codeOf("cancel_deletion", "deleting")).toBe("invalid_state");
  });

  test("is no removal while it is protected", () => {
    for (const action of ["delete", "purge"] as const)
      for (const status of [...unproven, ...served])
        expect(decideDomainAction(action, domain(status, { isProtected: true }))).toMatchObject({
          code: "protected",
          fix: 'PATCH /domains/dom_1 {"protection":{"delete":false}}',
        });
  });
});

test("a domain by its parent can be verified until it leaves", () => {
  expect(codeOf("verify", "active", { verifiedBy: "parent" })).toBeNull();
  expect(codeOf("verify", "pending_deletion", { verifiedBy: "parent" })).toBe("resource_deleting");
});

test("a domain with others that are the organisation's by it alone is not deleted, and a few of them are named", () => {
  expect(dependentsRefusal(domain("active"), [])).toBeNull();
  const names = Array.from({ length: 7 }, (_, index) => `d${index}.example.com`);
  expect(dependentsRefusal(domain("active"), names)).toMatchObject({
    code: "in_use",
    name: "domain_without_dependents",
    message: expect.stringContaining("d4.example.com and 2 more would end with example.com"),
  });
});
