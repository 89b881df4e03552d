/** Why an attempt to have a certificate issued has failed, by its code; what the CA said is beside it. */
export const attemptErrorTexts = {
  ca_account:
    "The CA does not accept this installation's account. An operator has to look at it; Kule tries again.",
  ca_caa:
    "A CAA record of the domain forbids this CA to issue the certificate. Change the record, and renew the certificate.",
  ca_connection:
    "The CA could not connect to the name over HTTP on port 80. Let the name lead to a load balancer of the region.",
  ca_dns:
    "The CA could not look the name up in the DNS. Check the delegation of the domain: GET /domains/{id}/check.",
  ca_rate_limited: "The CA has issued too many certificates of this kind and asks to wait.",
  ca_refused: "The CA does not issue the certificate. An operator has to look at it; Kule tries again.",
  ca_refused_name: "The CA issues no certificate for one of the names. Leave it out.",
  ca_unauthorized: "The CA did not find the right answer at the name. Kule tries again.",
  ca_unavailable: "The CA does not answer as it should; Kule tries again.",
  names_not_proven_in_time: "The names were not proven in time; Kule tries again.",
  names_not_ready: "One of the names cannot be proven yet.",
  order_lost: "The CA no longer knows of the order; Kule begins again.",
  region_failed: "The region could not make the private key; Kule tries again.",
  setup_incomplete:
    "This installation is not set up to issue certificates at the moment. An operator has to look at it.",
} as const satisfies Readonly<Record<string, string>>;

export type AttemptErrorCode = keyof typeof attemptErrorTexts;

/** The code of what a CA refuses, by the type of its problem (RFC 8555 6.7). */
export function codeOfRefusal(type: string): AttemptErrorCode {
  const codes: Readonly<Record<string, AttemptErrorCode>> = {
    caa: "ca_caa",
    connection: "ca_connection",
    tls: "ca_connection",
    dns: "ca_dns",
    rateLimited: "ca_rate_limited",
    rejectedIdentifier: "ca_refused_name",
    unsupportedIdentifier: "ca_refused_name",
    unauthorized: "ca_unauthorized",
    incorrectResponse: "ca_unauthorized",
    challengeNotOffered: "ca_refused_name",
    accountDoesNotExist: "ca_account",
    externalAccountRequired: "ca_account",
    invalidContact: "ca_account",
    unsupportedContact: "ca_account",
    userActionRequired: "ca_account",
    serverInternal: "ca_unavailable",
  };
  return (Object.hasOwn(codes, type) ? codes[type] : undefined) ?? "ca_refused";
}
