import { createHash } from "node:crypto";

export type ChallengeType = "dns-01" | "http-01";

export interface ChallengeRecord {
  /** Without a final dot. */
  readonly name: string;
  /** One value of a TXT record, 43 characters. A name and its wildcard need two values in one record set. */
  readonly value: string;
}

/** The record that proves a name by DNS (RFC 8555 8.4). @param name the authorisation's, without an asterisk */
export function challengeRecord(name: string, token: string, thumbprint: string): ChallengeRecord {
  const value = createHash("sha256").update(challengeText(token, thumbprint)).digest("base64url");
  return { name: `_acme-challenge.${name}`, value };
}

/** Where a CA looks for the answer over HTTP on port 80 (RFC 8555 8.3); who answers needs no list of tokens. */
export const CHALLENGE_PATH = "/.well-known/acme-challenge/";

/** The whole body of the answer at CHALLENGE_PATH and the token. */
export function challengeText(token: string, thumbprint: string): string {
  return `${token}.${thumbprint}`;
}
