import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";

/** Encrypts what is stored in the database and must not be readable in a copy of it. */
export type Vault = {
  /**
   * @param place where it is stored and for whom, such as `user_totp usr_…`: sealed text that is moved
   * elsewhere cannot be opened
   */
  seal(place: string, text: string): string;
  /** @throws when it was sealed for another place, with a removed key, or tampered with */
  open(place: string, sealed: string): string;
};

const version = "v1";
const tagBytes = 16;

/**
 * AES-256-GCM under keys derived from the installation's secrets: the first seals, all open.
 *
 * @returns null without a secret
 */
export function createVault(secrets: readonly string[]): Vault | null {
  const keys = new Map(secrets.map((secret) => [keyId(secret), derivedKey(secret)]));
  const [current] = keys;
  if (current === undefined) return null;
  const [currentId, currentKey] = current;
  return {
    seal(place, text) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", currentKey, nonce).setAAD(Buffer.from(place));
      const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
      return [version, currentId, nonce.toString("base64url"), sealed.toString("base64url")].join(".");
    },
    open(place, sealed) {
      const [kind, id = "", nonce = "", body = ""] = sealed.split(".");
      const key = keys.get(id);
      if (kind !== version || key === undefined)
        throw new Error(`${place} is sealed with a key that KULE_API_SECRET does not have`);
      const bytes = Buffer.from(body, "base64url");
      const decipher = createDecipheriv("aes-256-gcm", key, Buffer.from(nonce, "base64url"), {
        authTagLength: tagBytes,
      })
        .setAAD(Buffer.from(place))
        .setAuthTag(bytes.subarray(-tagBytes));
      return decipher.update(bytes.subarray(0, -tagBytes), undefined, "utf8") + decipher.final("utf8");
    },
  };
}

function derivedKey(secret: string): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, "", "kule api at rest v1", 32));
}

function keyId(secret: string): string {
  return createHash("sha256").update("kule api key id").update(derivedKey(secret)).digest("hex").slice(0, 12);
}
