// Secrets that the control plane itself must be able to read again, such as the keys of its accounts at CAs. They are kept in
// the database, encrypted under a key that is not in it.

import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";

export interface MasterKeys {
  /** Id of the key that encrypts. */
  readonly currentId: string;
  /** 32 bytes each, by their ids. */
  readonly keys: ReadonlyMap<string, Buffer>;
}

/** The text of the setting is not usable; the message names the setting and holds nothing of its value. */
export class BadMasterKey extends Error {
  constructor(message: string) {
    super(message);
    this.name = "BadMasterKey";
  }
}

/** `unknown-key`: encrypted under a key that is not among these. `damaged`: not what was encrypted for this context. */
export class CannotDecrypt extends Error {
  readonly reason: "unknown-key" | "damaged";
  constructor(reason: "unknown-key" | "damaged", message: string) {
    super(message);
    this.name = "CannotDecrypt";
    this.reason = reason;
  }
}

const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const ID_CHARACTERS = 16;
const MAX_KEYS = 10;
const VERSION = "v1";

/**
 * KULE_MASTER_KEY, or the file that KULE_MASTER_KEY_FILE names: 32 bytes in base64, several separated by commas or white space.
 * The first encrypts; the others are those of before, until what they encrypted is encrypted again.
 *
 * @returns null when neither is set
 * @throws BadMasterKey
 */
export function readMasterKeys(environment: Readonly<Record<string, string | undefined>>): MasterKeys | null {
  const { KULE_MASTER_KEY: value, KULE_MASTER_KEY_FILE: file } = environment;
  if (value !== undefined && file !== undefined)
    throw new BadMasterKey("KULE_MASTER_KEY and KULE_MASTER_KEY_FILE are both set; remove one");
  if (value !== undefined) return parseMasterKeys(value, "KULE_MASTER_KEY");
  if (file === undefined) return null;
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "it cannot be read";
    throw new BadMasterKey(`KULE_MASTER_KEY_FILE: ${file}: ${code}`);
  }
  return parseMasterKeys(text, "KULE_MASTER_KEY_FILE");
}

function parseMasterKeys(text: string, setting: string): MasterKeys {
  const parts = text.split(/[\s,]+/).filter((part) => part !== "");
  if (parts.length === 0 || parts.length > MAX_KEYS)
    throw new BadMasterKey(`${setting} must hold 1 to ${MAX_KEYS} keys, not ${parts.length}`);
  const keys = new Map<string, Buffer>();
  for (const [index, part] of parts.entries()) {
    const key = Buffer.from(part, "base64");
    if (key.length !== KEY_BYTES || key.toString("base64") !== part)
      throw new BadMasterKey(
        `${setting}: key ${index + 1} is not 32 bytes in base64; openssl rand -base64 32 makes one`,
      );
    keys.set(idOf(key), key);
  }
  const [currentId = ""] = keys.keys();
  return { currentId, keys };
}

/**
 * AES-256-GCM under the current key. The context, such as the id of the row, is authenticated: what was encrypted for one row
 * does not decrypt in another.
 *
 * @returns `v1.<id of the key>.<base64url of nonce, ciphertext and tag>`
 */
export function encryptSecret(keys: MasterKeys, secret: Uint8Array, context: string): string {
  const key = keys.keys.get(keys.currentId);
  if (key === undefined) throw new BadMasterKey("the current key is not among the keys");
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(additionalData(keys.currentId, context));
  const encrypted = Buffer.concat([iv, cipher.update(secret), cipher.final(), cipher.getAuthTag()]);
  return `${VERSION}.${keys.currentId}.${encrypted.toString("base64url")}`;
}

/** @throws CannotDecrypt, with nothing of the secret */
export function decryptSecret(keys: MasterKeys, encrypted: string, context: string): Buffer {
  const id = masterKeyIdOf(encrypted);
  const key = keys.keys.get(id);
  if (key === undefined)
    throw new CannotDecrypt("unknown-key", `encrypted under the master key ${id}, which is not configured`);
  const bytes = Buffer.from(encrypted.slice(VERSION.length + id.length + 2), "base64url");
  if (bytes.length < IV_BYTES + TAG_BYTES) throw damaged();
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, IV_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(additionalData(id, context));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
  } catch {
    throw damaged();
  }
}

/** Id of the key that something is encrypted under; where it is not `currentId`, encrypt it again. @throws CannotDecrypt */
export function masterKeyIdOf(encrypted: string): string {
  const [version, id = "", text, ...rest] = encrypted.split(".");
  if (version !== VERSION || !/^[0-9a-f]{16}$/.test(id) || text === undefined || rest.length > 0)
    throw damaged();
  return id;
}

function damaged(): CannotDecrypt {
  return new CannotDecrypt("damaged", "this is not what was encrypted here");
}

function additionalData(id: string, context: string): Buffer {
  return Buffer.from(`${VERSION}.${id}.${context}`);
}

/** Follows from the key, so that no other key can have it by mistake; the key does not follow from it. */
function idOf(key: Buffer): string {
  return createHmac("sha256", key).update("id of a Kule master key").digest("hex").slice(0, ID_CHARACTERS);
}
