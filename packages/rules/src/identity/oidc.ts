/** What a provider has said of somebody, once its signature held. */
export type OidcClaims = {
  readonly email: string | null;
  /** Only what the provider says outright: a missing claim is no. */
  readonly emailVerified: boolean;
  readonly acr: string | null;
  readonly amr: readonly string[];
};

/** What the operators have said of the provider. */
export type OidcRules = {
  /** In lower case; null lets every domain in. */
  readonly emailDomains: readonly string[] | null;
  /** What in its answer shows that it has asked for a second factor; null: it is never trusted with that. */
  readonly secondFactor: { readonly acr: readonly string[]; readonly amr: readonly string[] } | null;
};

/** What must hold and does not. */
export type OidcDefect = "email_verified" | "email_domain_allowed";

/**
 * What stands against letting the person in, or null. A person who is known by issuer and subject needs an e-mail only
 * where the domains are limited.
 */
export function oidcDefect(claims: OidcClaims, rules: OidcRules, isKnown: boolean): OidcDefect | null {
  if (isKnown && rules.emailDomains === null) return null;
  if (claims.email === null || !claims.emailVerified) return "email_verified";
  return rules.emailDomains === null || rules.emailDomains.includes(domainOf(claims.email))
    ? null
    : "email_domain_allowed";
}

/** Whether the provider has asked for a second factor, as far as it is trusted with that. */
export function providerAskedForSecondFactor(claims: OidcClaims, rules: OidcRules): boolean {
  if (rules.secondFactor === null) return false;
  const { acr, amr } = rules.secondFactor;
  return (
    (claims.acr !== null && acr.includes(claims.acr)) || claims.amr.some((method) => amr.includes(method))
  );
}

/** What is behind the last at sign: there may be more of them in front. */
function domainOf(email: string): string {
  return email.slice(email.lastIndexOf("@") + 1).toLowerCase();
}
