import type { X509Certificate } from "node:crypto";
import { type CertificateKeyType, keyTypeOf } from "./key-type.ts";
import { dnsNamesOf } from "./subject-names.ts";

/** What Kule stores and shows of a certificate; all of it is public. */
export interface CertificateFacts {
  /** DNS names in lower case, in the certificate's order. */
  readonly names: readonly string[];
  /** SHA-256 of the certificate, 64 hexadecimal digits in lower case. */
  readonly fingerprintSha256: string;
  /** Hexadecimal digits in lower case. */
  readonly serial: string;
  /** Common name of the issuer, or its organisation where it has none; at most 200 characters. */
  readonly issuer: string;
  readonly keyType: CertificateKeyType;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** The certificate and what leads from it to a root, each signed by the next. */
  readonly chainPem: string;
}

const MAX_ISSUER_CHARACTERS = 200;

/** @returns null when the key of the first certificate is none that browsers take */
export function certificateFacts(chain: readonly X509Certificate[]): CertificateFacts | null {
  const [leaf] = chain;
  if (leaf === undefined) return null;
  const { keyType } = keyTypeOf(leaf.publicKey);
  if (keyType === null) return null;
  return {
    names: dnsNamesOf(leaf),
    fingerprintSha256: leaf.fingerprint256.replaceAll(":", "").toLowerCase(),
    serial: leaf.serialNumber.toLowerCase(),
    issuer: shortName(leaf.issuer),
    keyType,
    notBefore: leaf.validFromDate,
    notAfter: leaf.validToDate,
    chainPem: chain.map((certificate) => certificate.toString()).join(""),
  };
}

/** `name` as Node prints it: one attribute a line, the last one the narrowest. */
export function shortName(name: string): string {
  const lines = name.split("\n");
  const of = (attribute: string) =>
    lines.findLast((line) => line.startsWith(`${attribute}=`))?.slice(attribute.length + 1);
  const text = of("CN") ?? of("O") ?? lines.join(", ");
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ").slice(0, MAX_ISSUER_CHARACTERS);
}
