// The key of a signed zone, its DNSKEY and what the parent has of it.

import { createHash, createPrivateKey } from "node:crypto";
import { systemSecrets } from "../runtime.ts";
import type { StoredKey } from "./zone.ts";

const FLAGS = 257;
const ALGORITHM = 13;

/** ECDSA P-256, active or not. */
export function newKey(id: number, active: boolean): StoredKey {
  const { publicKey, privateKey } = systemSecrets.keyPair();
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  const point = Buffer.concat([Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]);
  return {
    id,
    active,
    privateKey: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
    publicKey: point.toString("base64"),
  };
}

/** In dns-packet's form. */
export function dnskeyData(key: StoredKey): { flags: number; algorithm: number; key: Buffer } {
  return { flags: FLAGS, algorithm: ALGORITHM, key: Buffer.from(key.publicKey, "base64") };
}

/** What the API lists of a key of the zone `name`: no private part. */
export function keyView(name: string, key: StoredKey) {
  return {
    type: "Cryptokey",
    id: key.id,
    active: key.active,
    published: true,
    keytype: "csk",
    flags: FLAGS,
    algorithm: "ECDSAP256SHA256",
    bits: 256,
    dnskey: `${FLAGS} 3 ${ALGORITHM} ${key.publicKey}`,
    ds: dsOf(name, key),
  };
}

/** ISC's format, which PowerDNS answers when a key is made. */
export function privateKeyText(key: StoredKey): string {
  const { d = "" } = createPrivateKey(key.privateKey).export({ format: "jwk" });
  const secret = Buffer.from(d, "base64url").toString("base64");
  return `Private-key-format: v1.2\nAlgorithm: 13 (ECDSAP256SHA256)\nPrivateKey: ${secret}\n`;
}

function dsOf(name: string, key: StoredKey): string[] {
  const rdata = Buffer.concat([
    Buffer.from([FLAGS >> 8, FLAGS & 255, 3, ALGORITHM]),
    Buffer.from(key.publicKey, "base64"),
  ]);
  const signed = Buffer.concat([wireName(name), rdata]);
  const digests = [
    [1, "sha1"],
    [2, "sha256"],
    [4, "sha384"],
  ] as const;
  return digests.map(
    ([type, hash]) =>
      `${keyTag(rdata)} ${ALGORITHM} ${type} ${createHash(hash).update(signed).digest("hex")}`,
  );
}

/** RFC 4034, appendix B. */
function keyTag(rdata: Buffer): number {
  let sum = 0;
  rdata.forEach((byte, index) => {
    sum += index % 2 === 0 ? byte << 8 : byte;
  });
  return (sum + (sum >> 16)) & 0xffff;
}

function wireName(name: string): Buffer {
  const labels = name.split(".").filter((label) => label !== "");
  return Buffer.concat([
    ...labels.map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
    Buffer.from([0]),
  ]);
}
