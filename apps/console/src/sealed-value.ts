import { createHash, hkdfSync } from "node:crypto";
import { EncryptJWT, jwtDecrypt } from "jose";

/** Seals small objects into opaque text that only this key ring opens. */
export type Sealer = {
  /** Encrypted text that holds `value` until `expiresAt`; `purpose` prevents the use of one kind as another. */
  seal(purpose: string, value: Readonly<Record<string, unknown>>, expiresAt: Date): Promise<string>;
  /** The value that was sealed for `purpose`, or null: unknown key, other purpose, modified or expired. */
  open(purpose: string, sealed: string): Promise<Record<string, unknown> | null>;
};

/**
 * AES-256-GCM in a compact JWE. Every secret of the ring derives a key; the first one seals and all open. To rotate,
 * put the new secret in front and remove the old one after the longest session.
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
        // Every invalid cookie has the same result: null.
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
