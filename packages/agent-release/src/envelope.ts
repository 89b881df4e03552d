// A payload with its signatures. What is signed is the payload's bytes after a line with their kind, so that a signature of
// keys can never be taken for one of a release.

import { createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { RELEASE_LIMITS } from "./release.ts";

export type Signature = {
  /** The 32 bytes of an ed25519 public key, in base64. */
  readonly key: string;
  readonly signature: string;
};

export type Envelope = {
  /** JSON, in base64. */
  readonly payload: string;
  readonly signatures: readonly Signature[];
};

export type PayloadKind = "kule-agent-release" | "kule-agent-keys";

const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

/** Whether it is the one spelling that base64 has for that many bytes. */
function isBase64(text: unknown, bytes?: number): text is string {
  if (typeof text !== "string") return false;
  const decoded = Buffer.from(text, "base64");
  return decoded.toString("base64") === text && (bytes === undefined || decoded.length === bytes);
}

export const isPublicKey = (text: unknown): text is string => isBase64(text, KEY_BYTES);

/** The envelope that a value is, or what is wrong with it. */
export function asEnvelope(value: unknown): Envelope | { readonly problem: string } {
  if (typeof value !== "object" || value === null) return { problem: "it is no envelope" };
  const { payload, signatures } = value as Partial<Record<keyof Envelope, unknown>>;
  if (!isBase64(payload) || payload === "") return { problem: "its payload is not in base64" };
  if (payload.length > RELEASE_LIMITS.envelopeBytes) return { problem: "its payload is too large" };
  if (!Array.isArray(signatures)) return { problem: "it has no list of signatures" };
  if (signatures.length > RELEASE_LIMITS.signatures) return { problem: "it has too many signatures" };
  const kept: Signature[] = [];
  for (const each of signatures as readonly unknown[]) {
    const { key, signature } = (each ?? {}) as Partial<Record<keyof Signature, unknown>>;
    if (!isPublicKey(key)) return { problem: "a signature names no ed25519 key" };
    if (!isBase64(signature, SIGNATURE_BYTES)) return { problem: "a signature is not one of ed25519" };
    kept.push({ key, signature });
  }
  return { payload, signatures: kept };
}

/** The envelope in a text from outside, such as a file. */
export function readEnvelope(text: string): Envelope | { readonly problem: string } {
  if (Buffer.byteLength(text) > RELEASE_LIMITS.envelopeBytes) return { problem: "it is too large" };
  const value = jsonOf(text);
  return value === undefined ? { problem: "it is no JSON" } : asEnvelope(value);
}

export type Opened =
  | { readonly kind: "signed"; readonly payload: unknown }
  | {
      readonly kind: "unsigned";
      readonly code: "no_signature" | "untrusted_key" | "bad_signature" | "malformed";
      readonly message: string;
    };

/**
 * The payload, when one of the keys has signed it. Signatures by other keys are left aside: a release may be signed by the
 * keys of two generations.
 */
export function openEnvelope(
  { payload, signatures }: Envelope,
  kind: PayloadKind,
  keys: readonly string[],
): Opened {
  const unsigned = (code: Extract<Opened, { kind: "unsigned" }>["code"], message: string): Opened => ({
    kind: "unsigned",
    code,
    message,
  });
  if (signatures.length === 0) return unsigned("no_signature", "nobody has signed it");
  const trusted = signatures.filter(({ key }) => keys.includes(key));
  if (trusted.length === 0) return unsigned("untrusted_key", "none of the publisher's keys has signed it");
  const bytes = Buffer.from(payload, "base64");
  const signed = signedBytes(kind, bytes);
  const isSigned = trusted.some(({ key, signature }) => {
    try {
      return verify(null, signed, publicKeyOf(key), Buffer.from(signature, "base64"));
    } catch {
      return false;
    }
  });
  if (!isSigned) return unsigned("bad_signature", "its signature is not of these bytes");
  const value = jsonOf(bytes.toString("utf8"));
  return value === undefined
    ? unsigned("malformed", "what is signed is no JSON")
    : { kind: "signed", payload: value };
}

/** @param keys private ones, of ed25519 */
export function sealEnvelope(kind: PayloadKind, payload: unknown, keys: readonly KeyObject[]): Envelope {
  const bytes = Buffer.from(JSON.stringify(payload));
  return {
    payload: bytes.toString("base64"),
    signatures: keys.map((key) => ({
      key: rawPublicKey(key),
      signature: sign(null, signedBytes(kind, bytes), key).toString("base64"),
    })),
  };
}

/** The 32 bytes of the public half, in base64. */
export function rawPublicKey(key: KeyObject): string {
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  return Buffer.from(x, "base64url").toString("base64");
}

function publicKeyOf(raw: string): KeyObject {
  const x = Buffer.from(raw, "base64").toString("base64url");
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
}

const signedBytes = (kind: PayloadKind, bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${kind}\n`), bytes]);

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
