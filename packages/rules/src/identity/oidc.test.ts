import { describe, expect, test } from "vitest";
import { type OidcClaims, oidcDefect, providerAskedForSecondFactor } from "./oidc.ts";
import { hasSignInMethod } from "./sign-in-methods.ts";

const ada: OidcClaims = { email: "ada@acme.example", emailVerified: true, acr: null, amr: [] };
const open = { emailDomains: null, secondFactor: null };
const acme = { emailDomains: ["acme.example"], secondFactor: null };

describe("a person identified by a provider is signed in", () => {
  test.each([
    ["a new person with a verified e-mail", ada, open, false, null],
    [
      "a new person whose e-mail is not verified",
      { ...ada, emailVerified: false },
      open,
      false,
      "email_verified",
    ],
    ["a new person without an e-mail", { ...ada, email: null }, open, false, "email_verified"],
    ["a known person without an e-mail", { ...ada, email: null, emailVerified: false }, open, true, null],
    ["a person of an allowed domain", { ...ada, email: "ada@ACME.example" }, acme, true, null],
    [
      "a person of another domain",
      { ...ada, email: "ada@other.example" },
      acme,
      false,
      "email_domain_allowed",
    ],
    [
      "a known person of another domain",
      { ...ada, email: "a@other.example" },
      acme,
      true,
      "email_domain_allowed",
    ],
    [
      "a subdomain of an allowed one",
      { ...ada, email: "a@x.acme.example" },
      acme,
      false,
      "email_domain_allowed",
    ],
    [
      "an allowed domain in front",
      { ...ada, email: '"a@acme.example"@evil.example' },
      acme,
      false,
      "email_domain_allowed",
    ],
    [
      "a known person of a limited provider, unverified",
      { ...ada, emailVerified: false },
      acme,
      true,
      "email_verified",
    ],
  ] as const)("%s", (_what, claims, rules, isKnown, defect) => {
    expect(oidcDefect(claims, rules, isKnown)).toBe(defect);
  });
});

describe("a provider has required a second factor", () => {
  const trusted = { emailDomains: null, secondFactor: { acr: ["urn:mfa"], amr: ["mfa"] } };
  test.each([
    ["never, where it is not trusted with it", { ...ada, acr: "urn:mfa", amr: ["mfa"] }, open, false],
    ["by the acr that is trusted", { ...ada, acr: "urn:mfa" }, trusted, true],
    ["by an amr that is trusted", { ...ada, amr: ["pwd", "mfa"] }, trusted, true],
    ["not by another acr", { ...ada, acr: "urn:pwd" }, trusted, false],
    ["not by other methods", { ...ada, amr: ["pwd"] }, trusted, false],
    ["not by saying nothing", ada, trusted, false],
  ] as const)("%s", (_what, claims, rules, expected) => {
    expect(providerAskedForSecondFactor(claims, rules)).toBe(expected);
  });
});

test.each([
  [{ hasPassword: true, passkeys: 0, identities: 0 }, true],
  [{ hasPassword: false, passkeys: 1, identities: 0 }, true],
  [{ hasPassword: false, passkeys: 0, identities: 1 }, true],
  [{ hasPassword: false, passkeys: 0, identities: 0 }, false],
])("an account with %o has a sign-in method: %s", (ways, expected) => {
  expect(hasSignInMethod(ways)).toBe(expected);
});
