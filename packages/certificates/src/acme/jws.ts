// Signed requests of RFC 8555: flattened JWS, ES256 for accounts, HS256 for the binding to an account outside of ACME.

import { createHmac, type KeyObject, sign } from "node:crypto";
import { publicJwk } from "./account-key.ts";

/** Who signs: the key, and the account's URL, which is not known yet while the account is made or looked for. */
export interface AcmeSigner {
  readonly key: KeyObject;
  readonly accountUrl: string | null;
}

/** What an operator was given by a CA that takes its own customers only. */
export interface ExternalAccount {
  readonly keyId: string;
  /** base64url, as CAs show it. */
  readonly hmacKey: string;
}

/** @param payload null for a POST that only reads */
export function signRequest(
  signer: AcmeSigner,
  request: { readonly url: string; readonly nonce: string; readonly payload: unknown },
): string {
  const { url, nonce, payload } = request;
  const who = signer.accountUrl === null ? { jwk: publicJwk(signer.key) } : { kid: signer.accountUrl };
  const header = encode({ alg: "ES256", ...who, nonce, url });
  const body = payload === null ? "" : encode(payload);
  const signature = sign("sha256", Buffer.from(`${header}.${body}`), {
    key: signer.key,
    dsaEncoding: "ieee-p1363",
  });
  return JSON.stringify({ protected: header, payload: body, signature: signature.toString("base64url") });
}

/** @throws RangeError for a key that is not base64url or shorter than 16 bytes */
export function bindExternalAccount(external: ExternalAccount, accountKey: KeyObject, newAccountUrl: string) {
  const key = Buffer.from(external.hmacKey, "base64url");
  // Some CAs show the padding, which base64url in JOSE has not.
  if (key.length < 16 || !/^[A-Za-z0-9_-]+={0,2}$/.test(external.hmacKey))
    throw new RangeError("the HMAC key of the external account must be 16 bytes or more in base64url");
  const header = encode({ alg: "HS256", kid: external.keyId, url: newAccountUrl });
  const payload = encode(publicJwk(accountKey));
  const signature = createHmac("sha256", key).update(`${header}.${payload}`).digest("base64url");
  return { protected: header, payload, signature };
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
