// CAs and certificates of the tests, with any flaw that a test needs.

import "reflect-metadata";
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  KeyObject,
  randomBytes,
  webcrypto,
} from "node:crypto";
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  type Extension,
  type JsonGeneralNames,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";

type KeyPair = webcrypto.CryptoKeyPair;

export interface MadeCertificate {
  readonly pem: string;
  readonly keyPem: string;
  readonly subject: string;
  readonly keys: KeyPair;
}

export interface CertificateWish {
  readonly subject?: string;
  /** Self-signed without one. */
  readonly issuer?: MadeCertificate;
  readonly isCa?: boolean;
  readonly names?: JsonGeneralNames;
  readonly keys?: KeyPair;
  /** In place of the keys' own: that of a request, whose private key is elsewhere. */
  readonly publicKey?: webcrypto.CryptoKey;
  readonly hash?: "SHA-1" | "SHA-256";
  readonly notBefore?: Date;
  readonly notAfter?: Date;
  readonly usages?: readonly string[];
  /** Hexadecimal digits. */
  readonly serialNumber?: string;
  /** Hexadecimal digits of the issuer's key id. */
  readonly authorityKeyId?: string;
}

export const NOW = new Date("2026-06-01T00:00:00Z");
const DAY_MILLISECONDS = 86_400_000;

export async function makeKeys(curve: "P-256" | "P-384" | "P-521" = "P-256"): Promise<KeyPair> {
  return webcrypto.subtle.generateKey({ name: "ECDSA", namedCurve: curve }, true, ["sign", "verify"]);
}

export async function makeRsaKeys(bits: number): Promise<KeyPair> {
  return webcrypto.subtle.generateKey(
    {
      name: "RSASSA-PKCS1-v1_5",
      modulusLength: bits,
      publicExponent: Uint8Array.of(1, 0, 1),
      hash: "SHA-256",
    },
    true,
    ["sign", "verify"],
  );
}

export function makeEdKeys(): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    privateKey: privateKey.toCryptoKey("Ed25519", true, ["sign"]),
    publicKey: publicKey.toCryptoKey("Ed25519", true, ["verify"]),
  };
}

/** @param privatePem a key on the curve, in any form without a password */
export function importKeys(privatePem: string, namedCurve: "P-256" | "P-384"): KeyPair {
  const key = createPrivateKey(privatePem);
  const algorithm = { name: "ECDSA", namedCurve };
  return {
    privateKey: key.toCryptoKey(algorithm, true, ["sign"]),
    publicKey: createPublicKey(key).toCryptoKey(algorithm, true, ["verify"]),
  };
}

/** A certificate for example.test, valid around NOW, unless something else is wished. */
export async function makeCertificate(wish: CertificateWish = {}): Promise<MadeCertificate> {
  const keys = wish.keys ?? (await makeKeys());
  const subject = wish.subject ?? "CN=example.test";
  const names = wish.names ?? (wish.isCa === true ? [] : [{ type: "dns" as const, value: "example.test" }]);
  const extensions: Extension[] = [new BasicConstraintsExtension(wish.isCa === true, undefined, true)];
  if (names.length > 0) extensions.push(new SubjectAlternativeNameExtension(names));
  if (wish.usages !== undefined) extensions.push(new ExtendedKeyUsageExtension([...wish.usages]));
  if (wish.authorityKeyId !== undefined)
    extensions.push(new AuthorityKeyIdentifierExtension(wish.authorityKeyId));
  const signingKey = wish.issuer?.keys.privateKey ?? keys.privateKey;
  const signingAlgorithm = { name: signingKey.algorithm.name, hash: wish.hash ?? "SHA-256" };
  const certificate = await X509CertificateGenerator.create({
    serialNumber: wish.serialNumber ?? `01${randomBytes(8).toString("hex")}`,
    subject,
    issuer: wish.issuer?.subject ?? subject,
    notBefore: wish.notBefore ?? new Date(NOW.getTime() - 30 * DAY_MILLISECONDS),
    notAfter: wish.notAfter ?? new Date(NOW.getTime() + 60 * DAY_MILLISECONDS),
    publicKey: wish.publicKey ?? keys.publicKey,
    signingKey,
    signingAlgorithm,
    extensions,
  });
  return { pem: `${certificate.toString("pem")}\n`, keyPem: pemOf(keys), subject, keys };
}

export interface MadeChain {
  readonly root: MadeCertificate;
  readonly intermediate: MadeCertificate;
  readonly leaf: MadeCertificate;
}

export async function makeChain(leaf: CertificateWish = {}): Promise<MadeChain> {
  const root = await makeCertificate({ subject: "CN=Test Root", isCa: true });
  const intermediate = await makeCertificate({ subject: "CN=Test R1", isCa: true, issuer: root });
  return { root, intermediate, leaf: await makeCertificate({ ...leaf, issuer: intermediate }) };
}

function pemOf(keys: KeyPair): string {
  return KeyObject.from(keys.privateKey).export({ type: "pkcs8", format: "pem" }) as string;
}
