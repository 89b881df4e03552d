import { createHash, hkdfSync } from "node:crypto";
import { EncryptJWT, jwtDecrypt } from "jose";

/** Seals small objects into opaque text that only this key ring opens. */
export type Sealer = {
  /** Text that holds `value` until `expiresAt`; `purpose` keeps one kind from being taken for another. */
  seal(purpose: string, value: Readonly<Record<string, unknown>>, expiresAt: Date): Promise<string>;
  /** What was sealed for `purpose`, or null: unknown key, other purpose, tampered with, or past its time. */
  open(purpose: string, sealed: string): Promise<Record<string, unknown> | null>;
};

/**
 * AES-256-GCM in a compact JWE. Every secret of the ring gives a key; the first seals and all open, so a secret is
 * changed by putting the new one in front and removing the old one after the longest session.
 */
export function createSealer(secrets: readonly string[]): Sealer {
  const keys = new Map(secrets.map((secret) => [keyId(secret), derivedKey(secret)]));
  const [current] = keys;
  if (current === undefined) throw new Error("a sealer needs at least one secret");
  const [currentId, currentKey] = current;

  return {
    seal: (purpose, value, expiresAt) =>
      new EncryptJWT({ value })
        .setProtectedHeader({ alg: "dir", enc: "A256GCM", kid: currentId })
        .setAudience(purpose)
        .setExpirationTime(expiresAt)
        .encrypt(currentKey),
    async open(purpose, sealed) {
      try {
        const { payload } = await jwtDecrypt(
          sealed,
          (header) => {
            const key = keys.get(header.kid ?? "");
            if (key === undefined) throw new Error("sealed with an unknown key");
            return key;
          },
          {
            audience: purpose,
            keyManagementAlgorithms: ["dir"],
            contentEncryptionAlgorithms: ["A256GCM"],
          },
        );
        return payload.value as Record<string, unknown>;
      } catch {
        // Whatever is wrong with a cookie, the answer is the same: it opens nothing.
        return null;
      }
    },
  };
}

function derivedKey(secret: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secret, "", "kule console cookies v1", 32));
}

function keyId(secret: string): string {
  return createHash("sha256")
    .update("kule console key id")
    .update(derivedKey(secret))
    .digest("hex")
    .slice(0, 12);
}
