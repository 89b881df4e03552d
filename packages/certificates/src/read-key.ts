import { createPrivateKey, type KeyObject, sign, verify, type X509Certificate } from "node:crypto";
import { keyTypeOf } from "./key-type.ts";
import type { PemBlock } from "./pem.ts";
import { readBlocks, shownLabel } from "./read-certificates.ts";
import type { UploadProblem } from "./upload-problem.ts";

const KEY_LABELS = new Set(["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"]);
/** openssl ecparam writes it before the key. */
const IGNORED_LABEL = "EC PARAMETERS";
const field = "/private_key";

/** The private key of an upload, or why it cannot be used. Nothing of the text comes into a problem. */
export function readPrivateKey(text: string): KeyObject | UploadProblem {
  const blocks = readBlocks(text, field);
  if ("code" in blocks) return blocks;
  const keys = blocks.filter(({ label }) => label !== IGNORED_LABEL);
  const [block] = keys;
  if (block === undefined || keys.length > 1)
    return {
      field,
      code: block === undefined ? "no_pem" : "several_keys",
      text: "Give exactly one private key here, and the certificates in their own fields.",
    };
  if (isEncrypted(block))
    return {
      field,
      code: "key_encrypted",
      text: "The private key is encrypted with a password. Decrypt it first: openssl pkey -in key.pem -out plain.pem.",
    };
  if (!KEY_LABELS.has(block.label))
    return {
      field,
      code: "unexpected_pem",
      text: `This is a ${shownLabel(block)}. Give the private key in PEM, which begins with -----BEGIN PRIVATE KEY-----.`,
    };
  const key = parse(block);
  if (key === null)
    return {
      field,
      code: "unreadable_key",
      text: "The private key cannot be read. Copy it again, with its first and last line.",
    };
  const type = keyTypeOf(key);
  return type.keyType === null ? { field, code: type.code, text: `The private key ${type.text}` } : key;
}

/**
 * Whether the key makes signatures that the certificate's key confirms. Comparing the public parts is not enough: a damaged key
 * file can hold the right public part, and every handshake would fail.
 */
export function keyBelongsTo(key: KeyObject, certificate: X509Certificate): boolean {
  try {
    const text = Buffer.from("Kule proves that a key belongs to a certificate");
    return verify("sha256", text, certificate.publicKey, sign("sha256", text, key));
  } catch {
    return false;
  }
}

function isEncrypted({ label, body }: PemBlock): boolean {
  return label === "ENCRYPTED PRIVATE KEY" || /^Proc-Type:\s*4,\s*ENCRYPTED/m.test(body);
}

function parse({ label, body }: PemBlock): KeyObject | null {
  try {
    return createPrivateKey(`-----BEGIN ${label}-----\n${body.trim()}\n-----END ${label}-----\n`);
  } catch {
    // OpenSSL's own text says nothing that helps.
    return null;
  }
}
