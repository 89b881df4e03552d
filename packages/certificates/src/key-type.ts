import type { KeyObject } from "node:crypto";

export type CertificateKeyType = `rsa-${number}` | "ecdsa-p256" | "ecdsa-p384";

/** Longer ones take tens of milliseconds of CPU for each handshake, which is a way to stop a load balancer. */
const MAX_RSA_BITS = 8_192;
const MIN_RSA_BITS = 2_048;
const CURVES: Readonly<Record<string, CertificateKeyType>> = {
  prime256v1: "ecdsa-p256",
  secp384r1: "ecdsa-p384",
};

export type KeyTypeReading =
  | { readonly keyType: CertificateKeyType }
  /** `text` ends a sentence that begins with what the key is of. */
  | { readonly keyType: null; readonly code: "weak_key" | "unsupported_key"; readonly text: string };

/** Whether browsers take a certificate with this key, public or private, and what it is called. */
export function keyTypeOf(key: KeyObject): KeyTypeReading {
  const kind = key.asymmetricKeyType;
  if (kind === "rsa") {
    const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
    if (bits < MIN_RSA_BITS)
      return refusal("weak_key", `is an RSA key of ${bits} bits, which browsers refuse`);
    if (bits > MAX_RSA_BITS)
      return refusal(
        "unsupported_key",
        `is an RSA key of ${bits} bits; ${MAX_RSA_BITS} is the most that can be served`,
      );
    return { keyType: `rsa-${bits}` };
  }
  if (kind === "ec") {
    const curve = key.asymmetricKeyDetails?.namedCurve ?? "without a name";
    const keyType = CURVES[curve];
    return keyType === undefined
      ? refusal("unsupported_key", `is on the curve ${curve}, which not all browsers take`)
      : { keyType };
  }
  return refusal("unsupported_key", `is of the type ${kind ?? "unknown"}, which browsers do not take`);
}

function refusal(code: "weak_key" | "unsupported_key", what: string): KeyTypeReading {
  return {
    keyType: null,
    code,
    text: `${what}. Use ECDSA on P-256 or P-384, or RSA with 2048 bits or more.`,
  };
}
