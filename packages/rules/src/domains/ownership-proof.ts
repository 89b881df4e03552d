import { verificationLabel } from "./domain-name.ts";

/** The record that proves a domain, in the form in which a user enters it elsewhere. */
export type VerificationRecord = { readonly name: string; readonly type: "TXT"; readonly value: string };

/** @param name of the domain, canonical. @param token of the claim: random, and known to its organisation only */
export function verificationRecord(name: string, token: string): VerificationRecord {
  return { name: `${verificationLabel}.${name}`, type: "TXT", value: `kule-verification=${token}` };
}

/** The name servers that a claim is told to enter at its registrar, without final dots. */
export type OwnNameServers = {
  readonly all: readonly string[];
  /** Those with the claim's label: only who controls the registration and knows the claim can have named them. */
  readonly proving: readonly string[];
};

/**
 * The name servers of one claim.
 *
 * @param patterns the operator's: `*.ns1.example.net` gets the claim's label in place of its star; a name without
 * a star is the same for all claims and proves nothing
 * @param label a DNS label that no other claim has, such as `k7f3q9d2m`
 */
export function ownNameServers(patterns: readonly string[], label: string): OwnNameServers {
  const names = patterns.map((pattern) => ({
    name: bare(pattern.startsWith("*.") ? `${label}${pattern.slice(1)}` : pattern),
    isProving: pattern.startsWith("*."),
  }));
  return {
    all: names.map(({ name }) => name),
    proving: names.filter(({ isProving }) => isProving).map(({ name }) => name),
  };
}

/**
 * True if the domain's delegation names a name server of this claim. One is enough: the others may follow.
 *
 * @param observed the NS names that the parent's name servers, or the domain's own, have answered
 */
export function provesDelegation(observed: readonly string[], own: OwnNameServers): boolean {
  const seen = new Set(observed.map(bare));
  return own.proving.some((name) => seen.has(name));
}

const bare = (name: string) => name.toLowerCase().replace(/\.$/, "");
