// A secret that only a region's agent can read: the password of a Windows server, which must reach the guest
// in plain text and be stored nowhere in plain text on the way. X25519 with a key pair generated for this one
// secret, HKDF-SHA256, AES-256-GCM. The context (the server's id) is authenticated: a sealed password moved
// to another server's job does not open.
//
// Sealed text: base64 of 0x01 | ephemeral public key (32) | ciphertext | tag (16).

import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from "node:crypto";

const VERSION = 1;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** The prefix of the 32 bytes of an X25519 key in DER, so that keys can be stored as those 32 bytes alone. */
const SPKI_PREFIX = Buffer.from("302a300506032b656e032100", "hex");
const PKCS8_PREFIX = Buffer.from("302e020100300506032b656e04220420", "hex");

/** Not sealed to this key, for this context, or not sealed at all. */
export class CannotOpen extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CannotOpen";
  }
}

export type SealingKeyPair = {
  /** 32 bytes in base64; the agent reports it to the control plane. */
  readonly publicKey: string;
  /** 32 bytes in base64; it stays with the agent. */
  readonly privateKey: string;
};

export function makeSealingKeyPair(): SealingKeyPair {
  const { publicKey, privateKey } = generateKeyPairSync("x25519");
  return {
    publicKey: rawPublic(publicKey).toString("base64"),
    privateKey: rawPrivate(privateKey).toString("base64"),
  };
}

/** The public half of a private key. Throws a TypeError when it is none. */
export function publicKeyOf(privateKey: string): string {
  return rawPublic(createPublicKey(readPrivate(privateKey))).toString("base64");
}

/** Throws a TypeError when the key is not 32 bytes of base64, or is one of the few that make no secret. */
export function sealSecret(publicKey: string, secret: string, context: string): string {
  const recipient = rawKey(publicKey);
  const ephemeral = generateKeyPairSync("x25519");
  const ephemeralPublic = rawPublic(ephemeral.publicKey);
  const { key, nonce } = deriveKey(
    agree(ephemeral.privateKey, importPublic(recipient)),
    ephemeralPublic,
    recipient,
  );
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  cipher.setAAD(Buffer.from(context, "utf8"));
  const sealed = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
  return Buffer.concat([Buffer.of(VERSION), ephemeralPublic, sealed, cipher.getAuthTag()]).toString("base64");
}

/** Throws CannotOpen; its text reveals nothing about the secret. */
export function openSecret(privateKey: string, sealed: string, context: string): string {
  const bytes = Buffer.from(sealed, "base64");
  if (bytes.length < 1 + KEY_BYTES + TAG_BYTES || bytes[0] !== VERSION)
    throw new CannotOpen("not a sealed secret");
  const ephemeralPublic = bytes.subarray(1, 1 + KEY_BYTES);
  const own = readPrivate(privateKey);
  try {
    const shared = agree(own, importPublic(ephemeralPublic));
    const { key, nonce } = deriveKey(shared, ephemeralPublic, rawPublic(createPublicKey(own)));
    const decipher = createDecipheriv("aes-256-gcm", key, nonce);
    decipher.setAAD(Buffer.from(context, "utf8"));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const opened = Buffer.concat([
      decipher.update(bytes.subarray(1 + KEY_BYTES, -TAG_BYTES)),
      decipher.final(),
    ]);
    return opened.toString("utf8");
  } catch (cause) {
    throw new CannotOpen("sealed to another key, or for something else", { cause });
  }
}

/** Both public keys are included, so that a secret cannot be passed on as one sealed to another key. */
function deriveKey(
  shared: Buffer,
  ephemeralPublic: Buffer,
  recipientPublic: Buffer,
): { key: Buffer; nonce: Buffer } {
  const salt = Buffer.concat([ephemeralPublic, recipientPublic]);
  const derived = Buffer.from(
    hkdfSync("sha256", shared, salt, "kule sealed secret v1", KEY_BYTES + NONCE_BYTES),
  );
  return { key: derived.subarray(0, KEY_BYTES), nonce: derived.subarray(KEY_BYTES) };
}

function agree(privateKey: KeyObject, publicKey: KeyObject): Buffer {
  return diffieHellman({ privateKey, publicKey });
}

function rawKey(base64: string): Buffer {
  const bytes = Buffer.from(base64, "base64");
  if (bytes.length !== KEY_BYTES) throw new TypeError("an X25519 key is 32 bytes in base64");
  return bytes;
}

function importPublic(raw: Buffer): KeyObject {
  return createPublicKey({ key: Buffer.concat([SPKI_PREFIX, raw]), format: "der", type: "spki" });
}

function readPrivate(base64: string): KeyObject {
  return createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, rawKey(base64)]),
    format: "der",
    type: "pkcs8",
  });
}

function rawPublic(key: KeyObject): Buffer {
  return key.export({ format: "der", type: "spki" }).subarray(-KEY_BYTES);
}

function rawPrivate(key: KeyObject): Buffer {
  return key.export({ format: "der", type: "pkcs8" }).subarray(-KEY_BYTES);
}
