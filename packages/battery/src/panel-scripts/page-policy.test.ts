import { expect, test } from "vitest";
import { PagePolicies } from "./page-policy.ts";

const strict =
  "default-src 'none'; script-src 'nonce-q83vEjRWeJCrze8SNFZ4kA=='; style-src 'nonce-q83vEjRWeJCrze8SNFZ4kA=='; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const headers = (policy: string) => ({
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
});

test("a strict policy is one", () => {
  expect(new PagePolicies().judge("/", headers(strict))).toEqual([]);
});

test.each<[string, string]>([
  [strict.replace("script-src", "script-src 'unsafe-inline'"), "script-src 'unsafe-inline'"],
  [strict.replace("style-src", "style-src 'unsafe-inline'"), "style-src 'unsafe-inline'"],
  [strict.replace("script-src", "script-src 'unsafe-eval'"), "script-src 'unsafe-eval'"],
  [strict.replace("script-src", "script-src https:"), "script-src https:"],
  [strict.replace("script-src", "script-src 'strict-dynamic'"), "script-src 'strict-dynamic'"],
  [strict.replace("default-src 'none'", "default-src 'self'"), "default-src 'self'"],
  [strict.replace("frame-ancestors 'none'", "frame-ancestors 'self'"), "frame-ancestors 'self'"],
  [strict.replace("; base-uri 'none'", ""), "has no base-uri"],
  [strict.replace("default-src 'none'; ", ""), "has no default-src"],
  [strict.replace("script-src", "script-src 'self'"), "script-src 'self'"],
  [`${strict}; object-src *`, "object-src *"],
  [`script-src 'self' data:; ${strict}`, "script-src data:"],
])("%s is none", (policy, why) => {
  expect(new PagePolicies().judge("/", headers(policy)).join()).toContain(why);
});

test("an answer without a policy, or whose type is guessed, is not let through", () => {
  expect(new PagePolicies().judge("/", {})).toHaveLength(2);
});

test("a nonce is long, and of one answer", () => {
  const policies = new PagePolicies();
  const withNonce = (value: string) => headers(strict.replaceAll("q83vEjRWeJCrze8SNFZ4kA==", value));
  const [one, other] = ["q83vEjRWeJCrze8SNFZ4kA==", "EjRWeJCrze8SNFZ4kKvN7w=="];
  expect(policies.judge("/one", withNonce(one))).toEqual([]);
  expect(policies.judge("/other", withNonce(other))).toEqual([]);
  expect(policies.judge("/third", withNonce(one)).join()).toContain("(/one)");
  expect(policies.judge("/short", withNonce("c2hvcnQ="))).toHaveLength(1);
});
