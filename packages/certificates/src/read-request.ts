// Reads what a region's agent made. The agent is trusted with the key of the certificate, not with the names in it.

import "reflect-metadata";
import { createPublicKey } from "node:crypto";
import { Pkcs10CertificateRequest, SubjectAlternativeNameExtension } from "@peculiar/x509";

export interface RequestFacts {
  /** In lower case, in the request's order. */
  readonly names: readonly string[];
  /** SubjectPublicKeyInfo in DER. */
  readonly publicKeyDer: Buffer;
}

const MAX_BYTES = 64 * 1024;

/** @returns null for what is no request for DNS names alone, with an empty subject */
export function readCertificateRequest(csrDer: Uint8Array): RequestFacts | null {
  if (csrDer.length > MAX_BYTES) return null;
  try {
    const request = new Pkcs10CertificateRequest(Uint8Array.from(csrDer));
    const entries = request.extensions.flatMap((extension) =>
      extension instanceof SubjectAlternativeNameExtension ? extension.names.items : [],
    );
    const isForNamesAlone =
      request.extensions.length === 1 &&
      entries.length > 0 &&
      entries.every(({ type }) => type === "dns") &&
      request.subject === "";
    if (!isForNamesAlone) return null;
    const key = createPublicKey({
      key: Buffer.from(request.publicKey.rawData),
      format: "der",
      type: "spki",
    });
    return {
      names: entries.map(({ value }) => value.toLowerCase()),
      publicKeyDer: key.export({ format: "der", type: "spki" }),
    };
  } catch {
    return null;
  }
}
