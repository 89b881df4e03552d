// Runs in the region's agent, so that the private key of a managed certificate never leaves its region unsealed.

import { generateKeyPairSync, sign } from "node:crypto";
import { isCertificateName, MAX_REQUEST_NAMES } from "./certificate-name.ts";
import { DER, der, objectIdentifier } from "./der.ts";

export interface CertificateRequest {
  /** PKCS #10 in DER; it holds nothing secret. */
  readonly csrDer: Buffer;
  /** PKCS #8 in PEM, for the caller to seal and then to overwrite with zeros. */
  readonly privateKeyPem: Buffer;
}

const ECDSA_WITH_SHA256 = "1.2.840.10045.4.3.2";
const EXTENSION_REQUEST = "1.2.840.113549.1.9.14";
const SUBJECT_ALT_NAME = "2.5.29.17";

/**
 * A new P-256 key and a request for a certificate with these names, in their order. The subject is empty: CAs take the names
 * from the extension, and a common name holds 64 characters only.
 *
 * @throws RangeError for no name, more than 100, one twice, or one that is not a DNS name in lower case
 */
export function makeCertificateRequest(names: readonly string[]): CertificateRequest {
  if (names.length === 0 || names.length > MAX_REQUEST_NAMES)
    throw new RangeError(`a certificate request needs 1 to ${MAX_REQUEST_NAMES} names, not ${names.length}`);
  if (new Set(names).size !== names.length) throw new RangeError("a name is there twice");
  const wrong = names.find((name) => !isCertificateName(name));
  if (wrong !== undefined)
    throw new RangeError(`${JSON.stringify(wrong.slice(0, 100))} is not a DNS name in lower case`);

  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const alternatives = names.map((name) => der(DER.plain2, Buffer.from(name, "latin1")));
  const extension = der(
    DER.sequence,
    objectIdentifier(SUBJECT_ALT_NAME),
    der(DER.octetString, der(DER.sequence, ...alternatives)),
  );
  const attribute = der(
    DER.sequence,
    objectIdentifier(EXTENSION_REQUEST),
    der(DER.set, der(DER.sequence, extension)),
  );
  const asked = der(
    DER.sequence,
    der(DER.integer, Buffer.of(0)),
    der(DER.sequence),
    publicKey.export({ type: "spki", format: "der" }),
    der(DER.constructed0, attribute),
  );
  const signature = sign("sha256", asked, privateKey);
  const csrDer = der(
    DER.sequence,
    asked,
    der(DER.sequence, objectIdentifier(ECDSA_WITH_SHA256)),
    // The zero is the number of bits that the last byte does not use.
    der(DER.bitString, Buffer.of(0), signature),
  );
  return {
    csrDer,
    privateKeyPem: Buffer.from(privateKey.export({ type: "pkcs8", format: "pem" }) as string),
  };
}
