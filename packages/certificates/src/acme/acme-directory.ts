import { asObject, readObject, urlField } from "./answer-fields.ts";

/** Where a CA offers what (RFC 8555 7.1.1, RFC 9773 3). */
export interface AcmeDirectory {
  readonly newNonce: string;
  readonly newAccount: string;
  readonly newOrder: string;
  /** Null when the CA revokes nothing. */
  readonly revokeCert: string | null;
  /** Null when the CA has no ARI. */
  readonly renewalInfo: string | null;
  readonly termsOfService: string | null;
  readonly externalAccountRequired: boolean;
  /** Names by which CAA records allow the CA; at most 20, in lower case. */
  readonly caaIdentities: readonly string[];
}

const WHAT = "the directory";
const MAX_IDENTITIES = 20;

/** @throws AcmeUnavailable for a text that is no directory */
export function readDirectory(text: string): AcmeDirectory {
  const object = readObject(text, WHAT);
  const optional = (name: string) => (object[name] === undefined ? null : urlField(object, name, WHAT));
  const meta = object.meta === undefined ? {} : asObject(object.meta, `${WHAT}: meta`);
  return {
    newNonce: urlField(object, "newNonce", WHAT),
    newAccount: urlField(object, "newAccount", WHAT),
    newOrder: urlField(object, "newOrder", WHAT),
    revokeCert: optional("revokeCert"),
    renewalInfo: optional("renewalInfo"),
    termsOfService:
      meta.termsOfService === undefined ? null : urlField(meta, "termsOfService", `${WHAT}: meta`),
    externalAccountRequired: meta.externalAccountRequired === true,
    caaIdentities: (Array.isArray(meta.caaIdentities) ? meta.caaIdentities : [])
      .filter((each: unknown): each is string => typeof each === "string" && each.length <= 253)
      .slice(0, MAX_IDENTITIES)
      .map((each) => each.toLowerCase()),
  };
}
