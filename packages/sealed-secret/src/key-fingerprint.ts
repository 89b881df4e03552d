import { createHash } from "node:crypto";
import { sealSecret } from "./sealed-secret.ts";

/** How people compare a public key (32 bytes in base64): `SHA256:` and 43 characters, as ssh shows keys. */
export function keyFingerprint(publicKey: string): string {
  const digest = createHash("sha256").update(Buffer.from(publicKey, "base64")).digest("base64");
  // The 44th is the padding of 32 bytes.
  return `SHA256:${digest.slice(0, 43)}`;
}

/** Whether a secret can be sealed to the key: 32 bytes in the one spelling that base64 has for them, and not a weak one. */
export function canSealTo(publicKey: string): boolean {
  if (Buffer.from(publicKey, "base64").toString("base64") !== publicKey) return false;
  try {
    sealSecret(publicKey, "", "");
    return true;
  } catch {
    return false;
  }
}
