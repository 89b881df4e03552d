/** A provider's claims about a person, after its signature was verified. */
export type OidcClaims = {
  readonly email: string | null;
  /** Only if the provider states it explicitly: a missing claim is false. */
  readonly emailVerified: boolean;
  readonly acr: string | null;
  readonly amr: readonly string[];
};

/** The operators' settings for the provider. */
export type OidcRules = {
  /** In lower case; null allows every domain. */
  readonly emailDomains: readonly string[] | null;
  /** The claims that prove a second factor at the provider; null: it is never trusted with that. */
  readonly secondFactor: { readonly acr: readonly string[]; readonly amr: readonly string[] } | null;
};

/** The condition that is not met. */
export type OidcDefect = "email_verified" | "email_domain_allowed";

/**
 * Why the person is refused, or null. A person who is known by issuer and subject needs an e-mail only where
 * the domains are limited.
 */
export function oidcDefect(claims: OidcClaims, rules: OidcRules, isKnown: boolean): OidcDefect | null {
  if (isKnown && rules.emailDomains === null) return null;
  if (claims.email === null || !claims.emailVerified) return "email_verified";
  return rules.emailDomains === null || rules.emailDomains.includes(domainOf(claims.email))
    ? null
    : "email_domain_allowed";
}

/** Whether the provider has used a second factor, as far as it is trusted with that. */
export function providerAskedForSecondFactor(claims: OidcClaims, rules: OidcRules): boolean {
  if (rules.secondFactor === null) return false;
  const { acr, amr } = rules.secondFactor;
  return (
    (claims.acr !== null && acr.includes(claims.acr)) || claims.amr.some((method) => amr.includes(method))
  );
}

/** The part after the last at sign: there may be more of them before it. */
function domainOf(email: string): string {
  return email.slice(email.lastIndexOf("@") + 1).toLowerCase();
}
