import { createHash, sign, X509Certificate } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemSecrets } from "./runtime.ts";

/** Key and certificate in PEM, and the SHA-256 fingerprint in the form Node prints ("AB:CD:.."). */
export interface ServerIdentity {
  readonly keyPem: string;
  readonly certificatePem: string;
  readonly fingerprint256: string;
}

// DER: just enough of it for one self-signed certificate (node:crypto verifies X.509 but cannot write it).
const SEQUENCE = 0x30;
const SET = 0x31;

function der(tag: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const length = Buffer.from(body.length.toString(16).padStart(body.length > 0xff ? 4 : 2, "0"), "hex");
  return Buffer.concat([Buffer.from([tag, 0x80 | length.length]), length, body]);
}

function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let left = arc >>> 7; left > 0; left >>>= 7) groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return der(0x06, Buffer.from(bytes));
}

const utf8 = (text: string): Buffer => der(0x0c, Buffer.from(text));
const integer = (value: Buffer): Buffer =>
  der(0x02, (value[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.from([0]), value]) : value);
const generalizedTime = (iso: string): Buffer =>
  der(0x18, Buffer.from(`${iso.replaceAll(/[-:T]/g, "").slice(0, 14)}Z`));
const extension = (id: string, critical: boolean, value: Buffer): Buffer =>
  der(SEQUENCE, oid(id), ...(critical ? [der(0x01, Buffer.from([0xff]))] : []), der(0x04, value));

function name(commonName: string): Buffer {
  const attribute = (id: string, text: string): Buffer => der(SET, der(SEQUENCE, oid(id), utf8(text)));
  return der(SEQUENCE, attribute("2.5.4.10", "Kule lab region"), attribute("2.5.4.3", commonName));
}

function ipBytes(address: string): Buffer | undefined {
  if (/^\d+(\.\d+){3}$/.test(address)) return Buffer.from(address.split(".").map(Number));
  return address === "::1" ? Buffer.from([...Array<number>(15).fill(0), 1]) : undefined;
}

function selfSigned(commonName: string, hosts: readonly string[], notBefore: Date): ServerIdentity {
  const { privateKey, publicKey } = systemSecrets.keyPair();
  const ecdsaSha256 = der(SEQUENCE, oid("1.2.840.10045.4.3.2"));
  const alternatives = hosts.map((host) => {
    const ip = ipBytes(host);
    return ip === undefined ? der(0x82, Buffer.from(host)) : der(0x87, ip);
  });
  const serial = systemSecrets.bytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const notAfter = new Date(notBefore);
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + 10);
  const body = der(
    SEQUENCE,
    der(0xa0, integer(Buffer.from([2]))),
    integer(serial),
    ecdsaSha256,
    name(commonName),
    der(SEQUENCE, generalizedTime(notBefore.toISOString()), generalizedTime(notAfter.toISOString())),
    name(commonName),
    publicKey.export({ type: "spki", format: "der" }),
    der(
      0xa3,
      der(
        SEQUENCE,
        extension("2.5.29.19", true, der(SEQUENCE, der(0x01, Buffer.from([0xff])))),
        extension("2.5.29.17", false, der(SEQUENCE, ...alternatives)),
        extension("2.5.29.37", false, der(SEQUENCE, oid("1.3.6.1.5.5.7.3.1"))),
      ),
    ),
  );
  const signature = sign("sha256", body, privateKey);
  const raw = der(SEQUENCE, body, ecdsaSha256, der(0x03, Buffer.from([0]), signature));
  const base64 = raw.toString("base64").replaceAll(/.{64}/g, "$&\n").trimEnd();
  return {
    keyPem: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    certificatePem: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
    fingerprint256: fingerprintOf(raw),
  };
}

function fingerprintOf(raw: Buffer): string {
  const hex = createHash("sha256").update(raw).digest("hex").toUpperCase();
  return hex.replaceAll(/(..)(?=.)/g, "$1:");
}

/**
 * The lab's certificate: created at the first start and stored in `dataDir`, so that a pinned fingerprint
 * stays valid after a restart.
 */
export function serverIdentity(dataDir: string, hosts: readonly string[], now: Date): ServerIdentity {
  const file = join(dataDir, "certificate.pem");
  if (existsSync(file)) {
    const pem = readFileSync(file, "utf8");
    const split = pem.indexOf("-----BEGIN CERTIFICATE-----");
    const certificatePem = pem.slice(split);
    const { raw } = new X509Certificate(certificatePem);
    return { keyPem: pem.slice(0, split), certificatePem, fingerprint256: fingerprintOf(raw) };
  }
  // A day back: a client whose clock is a little behind must not see a certificate from the future.
  const identity = selfSigned("pve1", hosts, new Date(now.getTime() - 86_400_000));
  // One file and a rename: a kill between two files would leave a key without its certificate.
  writeFileSync(`${file}.tmp`, identity.keyPem + identity.certificatePem, { mode: 0o600 });
  renameSync(`${file}.tmp`, file);
  return identity;
}
