import { X509Certificate } from "node:crypto";
import { type PemBlock, pemBytes, readPemBlocks } from "./pem.ts";
import type { UploadField, UploadProblem } from "./upload-problem.ts";

/** Of each text of an upload, in UTF-8. */
export const MAX_TEXT_BYTES = 64 * 1024;
export const MAX_CERTIFICATES = 10;

const CERTIFICATE_LABELS = new Set(["CERTIFICATE", "X509 CERTIFICATE"]);

/** The certificates of one field in their order, or why they cannot be read. */
export function readCertificates(
  text: string,
  field: UploadField,
): readonly X509Certificate[] | UploadProblem {
  const blocks = readBlocks(text, field);
  if ("code" in blocks) return blocks;
  if (blocks.some(({ label }) => label.endsWith("PRIVATE KEY")))
    return {
      field,
      code: "key_in_certificate",
      text: "This field holds a private key. Put it into private_key alone.",
    };
  const other = blocks.find(({ label }) => !CERTIFICATE_LABELS.has(label));
  if (other !== undefined)
    return {
      field,
      code: "unexpected_pem",
      text: `This field holds a ${shownLabel(other)}. Give certificates in PEM, which begin with -----BEGIN CERTIFICATE-----.`,
    };
  if (blocks.length > MAX_CERTIFICATES)
    return {
      field,
      code: "too_many_certificates",
      text: `There are ${blocks.length} certificates; at most ${MAX_CERTIFICATES} are taken. Leave out those that do not lead from yours to a root.`,
    };
  const certificates: X509Certificate[] = [];
  for (const [index, block] of blocks.entries()) {
    const certificate = readOne(block);
    if (certificate === null)
      return {
        field,
        code: "unreadable_certificate",
        text: `Certificate ${index + 1} of this field cannot be read. Copy it again, with its first and last line.`,
      };
    certificates.push(certificate);
  }
  return certificates;
}

/** At least one block, or why not. */
export function readBlocks(text: string, field: UploadField): readonly PemBlock[] | UploadProblem {
  if (Buffer.byteLength(text) > MAX_TEXT_BYTES)
    return { field, code: "too_large", text: `This is larger than ${MAX_TEXT_BYTES / 1024} KB.` };
  const blocks = readPemBlocks(text);
  if (blocks === null)
    return {
      field,
      code: "broken_pem",
      text: "A block begins with -----BEGIN and does not end. Copy it again, with its last line.",
    };
  if (blocks.length === 0)
    return {
      field,
      code: "no_pem",
      text: "This is not PEM. Give text that begins with -----BEGIN; openssl x509 and openssl pkcs12 make it from other forms.",
    };
  return blocks;
}

/** A label is any text of whoever sent it. */
export function shownLabel({ label }: PemBlock): string {
  return /^[A-Z0-9 ]+$/.test(label) ? label : "block of another kind";
}

function readOne(block: PemBlock): X509Certificate | null {
  const bytes = pemBytes(block);
  if (bytes === null) return null;
  try {
    const certificate = new X509Certificate(bytes);
    // Reads the key, the dates and the names: OpenSSL leaves them until they are asked for.
    const { publicKey, validFromDate, validToDate } = certificate;
    const dated = !Number.isNaN(validFromDate.getTime()) && !Number.isNaN(validToDate.getTime());
    return publicKey.type === "public" && dated ? certificate : null;
  } catch {
    return null;
  }
}
