import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from "node:crypto";
import { decryptSecret, encryptSecret, type MasterKeys } from "../master-key.ts";

/** The public part as RFC 7638 orders it: the thumbprint is the hash of exactly these members. */
export interface PublicJwk {
  readonly crv: string;
  readonly kty: string;
  readonly x: string;
  readonly y: string;
}

/** A new P-256 key of an account at a CA. */
export function makeAccountKey(): KeyObject {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
}

/** @param context what the key belongs to, such as the account's id; the same is needed to decrypt it */
export function encryptAccountKey(keys: MasterKeys, accountKey: KeyObject, context: string): string {
  const bytes = accountKey.export({ type: "pkcs8", format: "der" });
  try {
    return encryptSecret(keys, bytes, context);
  } finally {
    bytes.fill(0);
  }
}

/** @throws CannotDecrypt */
export function decryptAccountKey(keys: MasterKeys, encrypted: string, context: string): KeyObject {
  const bytes = decryptSecret(keys, encrypted, context);
  try {
    return createPrivateKey({ key: bytes, type: "pkcs8", format: "der" });
  } finally {
    bytes.fill(0);
  }
}

/** @throws TypeError for a key that is not on P-256 */
export function publicJwk(accountKey: KeyObject): PublicJwk {
  const { crv, kty, x, y } = createPublicKey(accountKey).export({ format: "jwk" });
  if (crv !== "P-256" || kty === undefined || x === undefined || y === undefined)
    throw new TypeError("an account key must be on P-256");
  return { crv, kty, x, y };
}

/** RFC 7638, base64url: what challenge answers hold, the one that load balancers give without knowing of an order included. */
export function keyThumbprint(accountKey: KeyObject): string {
  return createHash("sha256")
    .update(JSON.stringify(publicJwk(accountKey)))
    .digest("base64url");
}
