import { createHash, createHmac, createPublicKey, verify, type webcrypto } from "node:crypto";

/** Protected header and payload of what a client has signed; the payload of a request that only reads is null. */
export type SignedRequest = {
  readonly header: {
    readonly nonce?: string;
    readonly url?: string;
    readonly kid?: string;
    readonly jwk?: JsonWebKey;
  };
  readonly payload: Readonly<Record<string, unknown>> | null;
  isSignedBy(key: JsonWebKey): boolean;
};

type JsonWebKey = webcrypto.JsonWebKey;
type Flattened = { readonly protected: string; readonly payload: string; readonly signature: string };

/** @throws Error for what is no flattened JWS */
export function readSigned(body: string): SignedRequest {
  const { protected: header, payload, signature } = JSON.parse(body) as Flattened;
  return {
    header: decoded(header),
    payload: payload === "" ? null : decoded(payload),
    isSignedBy: (key) =>
      verify(
        "sha256",
        Buffer.from(`${header}.${payload}`),
        { key: createPublicKey({ key, format: "jwk" }), dsaEncoding: "ieee-p1363" },
        Buffer.from(signature, "base64url"),
      ),
  };
}

/** As RFC 7638 writes it. */
export function thumbprintOf({ crv, kty, x, y }: JsonWebKey): string {
  return createHash("sha256").update(JSON.stringify({ crv, kty, x, y })).digest("base64url");
}

/** Whether an account is bound to the one that an operator has at the CA (RFC 8555 7.3.4). */
export function isBound(
  binding: unknown,
  external: { readonly keyId: string; readonly hmacKey: string },
): boolean {
  if (typeof binding !== "object" || binding === null) return false;
  const { protected: header, payload, signature } = binding as Flattened;
  const { kid } = decoded<{ readonly kid?: string }>(header);
  const key = Buffer.from(external.hmacKey, "base64url");
  const right = createHmac("sha256", key).update(`${header}.${payload}`).digest("base64url");
  return kid === external.keyId && signature === right;
}

const decoded = <Value>(part: string): Value =>
  JSON.parse(Buffer.from(part, "base64url").toString("utf8")) as Value;
