import { createPrivateKey } from "node:crypto";
import type { Secret } from "./secret-search.ts";

/** The private part of a key on a curve as programs write it: in PEM, in a JWK, in hexadecimal. */
export function secretsOfKey(what: string, pem: string): Secret[] {
  const key = createPrivateKey(pem);
  const { d } = key.export({ format: "jwk" });
  if (d === undefined) throw new Error(`${what} is no key on a curve`);
  const own = key.export({ type: "pkcs8", format: "pem" }).toString();
  const lines = own.split("\n").filter((line) => line.length === 64);
  const bytes = Buffer.from(d, "base64url");
  return [
    ...lines.map((value, index) => ({ what: `${what}, line ${index + 1}`, value })),
    { what: `${what}, in a JWK`, value: d },
    { what: `${what}, in base64`, value: bytes.toString("base64").replace(/=+$/, "") },
    { what: `${what}, in hexadecimal`, value: bytes.toString("hex") },
  ];
}
