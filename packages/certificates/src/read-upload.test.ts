import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { type CertificateUpload, readUploadedCertificate } from "./read-upload.ts";
import {
  type CertificateWish,
  importKeys,
  type MadeCertificate,
  type MadeChain,
  makeCertificate,
  makeChain,
  makeEdKeys,
  makeKeys,
  makeRsaKeys,
  NOW,
} from "./testing/made-certificates.ts";
import type { UploadProblemCode } from "./upload-problem.ts";

let made: MadeChain;
beforeAll(async () => {
  made = await makeChain({
    names: [
      { type: "dns", value: "Example.test" },
      { type: "dns", value: "*.example.test" },
    ],
    serialNumber: "0a0b0c",
  });
});

const read = (upload: Partial<CertificateUpload>) =>
  readUploadedCertificate({ certificate: made.leaf.pem, privateKey: made.leaf.keyPem, ...upload }, NOW);

/** Field and code of each problem of an upload. */
const problemsOf = (upload: Partial<CertificateUpload>): readonly string[] =>
  read(upload).problems.map(({ field, code }) => `${field} ${code}`);

const problem = (field: string, code: UploadProblemCode): readonly string[] => [`${field} ${code}`];

/** The problems of a certificate of its own, which is signed by the intermediate. */
async function problemsOfLeaf(wish: CertificateWish): Promise<readonly string[]> {
  const leaf = await makeCertificate({ issuer: made.intermediate, ...wish });
  return problemsOf({ certificate: leaf.pem, chain: made.intermediate.pem, privateKey: leaf.keyPem });
}

describe("An uploaded certificate", () => {
  test("is read with its names, its issuer, its times and its chain", () => {
    const reading = read({ chain: made.intermediate.pem + made.root.pem });
    if (reading.problems.length > 0) throw new Error(JSON.stringify(reading.problems));
    const { facts, warnings, privateKey } = reading as Extract<typeof reading, { facts: unknown }>;
    expect(facts).toMatchObject({
      names: ["example.test", "*.example.test"],
      serial: "0a0b0c",
      issuer: "Test R1",
      keyType: "ecdsa-p256",
      notBefore: new Date("2026-05-02T00:00:00Z"),
      notAfter: new Date("2026-07-31T00:00:00Z"),
    });
    expect(facts.fingerprintSha256).toMatch(/^[0-9a-f]{64}$/);
    expect(facts.chainPem.match(/-----BEGIN CERTIFICATE-----/g)).toHaveLength(3);
    expect(warnings).toEqual([]);
    expect(createPrivateKey(privateKey).equals(createPrivateKey(made.leaf.keyPem))).toBe(true);
  });

  test("may hold its chain in the same field, and text and blank lines around its blocks", () => {
    const certificate = `subject=CN=a\r\n${made.leaf.pem.replaceAll("\n", "\r\n")}\n\nissuer\n${made.intermediate.pem}`;
    expect(problemsOf({ certificate, chain: " \n" })).toEqual([]);
  });

  test("whose chain is in another order is served in the right one, and says so", () => {
    const reading = read({ chain: made.root.pem + made.intermediate.pem });
    expect(reading).toMatchObject({
      problems: [],
      warnings: [{ field: "/chain", code: "chain_reordered" }],
      facts: { chainPem: [made.leaf, made.intermediate, made.root].map(({ pem }) => pem).join("") },
    });
  });

  test("with a certificate of its chain twice is served with it once", () => {
    const chain = made.intermediate.pem + made.leaf.pem + made.intermediate.pem + made.root.pem;
    expect(read({ chain })).toMatchObject({
      problems: [],
      warnings: [],
      facts: { chainPem: [made.leaf, made.intermediate, made.root].map(({ pem }) => pem).join("") },
    });
  });

  test("without the way to a root is taken with a warning that names what is missing", () => {
    expect(read({})).toMatchObject({
      problems: [],
      warnings: [{ field: "/chain", code: "chain_incomplete", text: expect.stringContaining('"Test R1"') }],
    });
    expect(read({ chain: made.intermediate.pem })).toMatchObject({
      warnings: [{ code: "chain_incomplete", text: expect.stringContaining('"Test Root"') }],
    });
  });

  test("whose chain ends below a root that browsers know is complete", async () => {
    const known = { ...made.root, subject: "C=US, O=Internet Security Research Group, CN=ISRG Root X1" };
    const intermediate = await makeCertificate({ subject: "CN=Y1", isCa: true, issuer: known });
    const leaf = await makeCertificate({ issuer: intermediate });
    const own = { certificate: leaf.pem, privateKey: leaf.keyPem };
    expect(read({ ...own, chain: intermediate.pem })).toMatchObject({ problems: [], warnings: [] });
    expect(read(own)).toMatchObject({ warnings: [{ code: "chain_incomplete" }] });
  });

  test("of an issuer with a text for its name shows it as one line that reads from left to right", async () => {
    const odd = await makeCertificate({ subject: `O=Org, CN=a\u202eb${"c".repeat(60)}` });
    expect(read({ certificate: odd.pem, privateKey: odd.keyPem })).toMatchObject({
      facts: { issuer: `a b${"c".repeat(60)}` },
    });
  });

  test("may have a key in any of the three usual forms", async () => {
    const keys = generateKeyPairSync("ec", { namedCurve: "P-384" });
    const keyPem = keys.privateKey.export({ type: "sec1", format: "pem" }) as string;
    const p384 = await makeCertificate({ keys: importKeys(keyPem, "P-384") });
    const parameters = "-----BEGIN EC PARAMETERS-----\nBgUrgQQAIg==\n-----END EC PARAMETERS-----\n";
    expect(read({ certificate: p384.pem, privateKey: parameters + keyPem })).toMatchObject({
      problems: [],
      facts: { keyType: "ecdsa-p384" },
    });
    const rsa = await makeCertificate({ keys: await makeRsaKeys(2_048) });
    const pkcs1 = createPrivateKey(rsa.keyPem).export({ type: "pkcs1", format: "pem" }) as string;
    expect(read({ certificate: rsa.pem, privateKey: pkcs1 })).toMatchObject({
      problems: [],
      facts: { keyType: "rsa-2048" },
    });
  });
});

describe("An upload is refused, with the field and the reason,", () => {
  const block = (label: string) => `-----BEGIN ${label}-----\nAAAA\n-----END ${label}-----\n`;

  test("when a text is not what its field takes", () => {
    expect(problemsOf({ certificate: "hello" })).toEqual(problem("/certificate", "no_pem"));
    expect(problemsOf({ certificate: "" })).toEqual(problem("/certificate", "no_pem"));
    expect(problemsOf({ certificate: made.leaf.pem.slice(0, -10) })).toEqual(
      problem("/certificate", "broken_pem"),
    );
    expect(problemsOf({ certificate: block("CERTIFICATE") })).toEqual(
      problem("/certificate", "unreadable_certificate"),
    );
    expect(problemsOf({ chain: block("PKCS7") })).toEqual(problem("/chain", "unexpected_pem"));
    expect(problemsOf({ certificate: made.leaf.pem + made.leaf.keyPem })).toEqual(
      problem("/certificate", "key_in_certificate"),
    );
    expect(problemsOf({ privateKey: made.leaf.pem })).toEqual(problem("/private_key", "unexpected_pem"));
    expect(problemsOf({ privateKey: block("PRIVATE KEY") })).toEqual(
      problem("/private_key", "unreadable_key"),
    );
    expect(problemsOf({ privateKey: made.leaf.keyPem + made.root.keyPem })).toEqual(
      problem("/private_key", "several_keys"),
    );
  });

  test("when it is too large, or has too many certificates", () => {
    const large = "x".repeat(65_537);
    expect(problemsOf({ certificate: large, chain: large, privateKey: large })).toEqual([
      "/certificate too_large",
      "/chain too_large",
      "/private_key too_large",
    ]);
    expect(problemsOf({ chain: made.intermediate.pem.repeat(11) })).toEqual(
      problem("/chain", "too_many_certificates"),
    );
    expect(problemsOf({ chain: made.intermediate.pem.repeat(10) })).toEqual(
      problem("/chain", "too_many_certificates"),
    );
  });

  test("when it holds several certificates that are not of CAs, or only those of CAs", async () => {
    const other = await makeCertificate();
    expect(problemsOf({ certificate: made.leaf.pem + other.pem })).toEqual(
      problem("/certificate", "several_leaves"),
    );
    expect(problemsOf({ chain: other.pem })).toEqual(problem("/chain", "several_leaves"));
    expect(problemsOf({ certificate: made.root.pem, privateKey: made.root.keyPem })).toEqual(
      problem("/certificate", "is_ca"),
    );
    expect(problemsOf({ certificate: made.intermediate.pem, chain: made.leaf.pem })).toEqual(
      problem("/certificate", "is_ca"),
    );
  });

  test("when its chain does not lead upwards from it", async () => {
    const stranger = await makeChain();
    expect(problemsOf({ chain: made.intermediate.pem + stranger.root.pem })).toEqual(
      problem("/chain", "chain_does_not_belong"),
    );
    expect(problemsOf({ certificate: made.leaf.pem + made.root.pem })).toEqual(
      problem("/certificate", "chain_does_not_belong"),
    );
    // The name of the issuer alone proves nothing.
    expect(problemsOf({ chain: stranger.intermediate.pem })).toEqual(
      problem("/chain", "chain_does_not_belong"),
    );
  });

  test("when two certificates of its chain could come next", async () => {
    const crossRoot = await makeCertificate({ subject: "CN=Other Root", isCa: true });
    const cross = await makeCertificate({
      subject: made.intermediate.subject,
      keys: made.intermediate.keys,
      isCa: true,
      issuer: crossRoot,
    });
    expect(problemsOf({ chain: made.root.pem + made.intermediate.pem + cross.pem })).toEqual(
      problem("/chain", "chain_ambiguous"),
    );
  });

  test("when the key belongs to another certificate, or only says that it belongs to this one", () => {
    expect(problemsOf({ privateKey: made.root.keyPem })).toEqual(problem("/private_key", "key_mismatch"));
    const own = createPrivateKey(made.leaf.keyPem).export({ format: "jwk" });
    const other = createPrivateKey(made.root.keyPem).export({ format: "jwk" });
    const mixed = sec1WithForeignPublicPart(other.d ?? "", own.x ?? "", own.y ?? "");
    expect(read({ privateKey: mixed }).problems).toMatchObject([{ field: "/private_key" }]);
  });

  test("when the key is encrypted, in either of the two ways", () => {
    const key = createPrivateKey(made.leaf.keyPem);
    const cipher = { cipher: "aes-256-cbc", passphrase: "secret" } as const;
    for (const type of ["pkcs8", "sec1"] as const) {
      const privateKey = key.export({ type, format: "pem", ...cipher }) as string;
      expect(problemsOf({ privateKey }), type).toEqual(problem("/private_key", "key_encrypted"));
    }
  });

  test("when its key is one that browsers refuse", async () => {
    const weak = await makeRsaKeys(1_024);
    expect(await problemsOfLeaf({ keys: weak })).toEqual(["/certificate weak_key", "/private_key weak_key"]);
    for (const keys of [await makeKeys("P-521"), makeEdKeys()])
      expect(await problemsOfLeaf({ keys })).toEqual([
        "/certificate unsupported_key",
        "/private_key unsupported_key",
      ]);
  });

  test("when it has expired or is not valid yet, and the same for its chain", async () => {
    expect(await problemsOfLeaf({ notAfter: NOW })).toEqual(problem("/certificate", "expired"));
    expect(await problemsOfLeaf({ notBefore: new Date(NOW.getTime() + 1_000) })).toEqual(
      problem("/certificate", "not_yet_valid"),
    );
    const issuer = await makeCertificate({ subject: "CN=Old", isCa: true, notAfter: NOW });
    const leaf = await makeCertificate({ issuer });
    expect(problemsOf({ certificate: leaf.pem, chain: issuer.pem, privateKey: leaf.keyPem })).toEqual(
      problem("/chain", "expired"),
    );
  });

  test("when it or an intermediate is signed with SHA-1, but not for a root that is", async () => {
    expect(await problemsOfLeaf({ hash: "SHA-1" })).toEqual(problem("/certificate", "weak_signature"));
    const root = await makeCertificate({ subject: "CN=Sha Root", isCa: true, hash: "SHA-1" });
    const intermediate = await makeCertificate({
      subject: "CN=Sha R1",
      isCa: true,
      hash: "SHA-1",
      issuer: root,
    });
    const under = async (issuer: MadeCertificate, chain: string) => {
      const leaf = await makeCertificate({ issuer });
      return problemsOf({ certificate: leaf.pem, chain, privateKey: leaf.keyPem });
    };
    expect(await under(root, root.pem)).toEqual([]);
    expect(await under(intermediate, intermediate.pem)).toEqual(problem("/chain", "weak_signature"));
  });

  test("when it has no DNS name, one that is none, or too many, or is not for servers", async () => {
    expect(await problemsOfLeaf({ names: [{ type: "ip", value: "192.0.2.1" }] })).toEqual(
      problem("/certificate", "no_names"),
    );
    for (const value of ["a b.test", "*.*.test", "a.test, DNS:b.test", 'a".test', "a\nb.test", "192.0.2.1"])
      expect(await problemsOfLeaf({ names: [{ type: "dns", value }] }), value).toEqual(
        problem("/certificate", "invalid_name"),
      );
    const names = Array.from({ length: 251 }, (_, n) => ({ type: "dns" as const, value: `n${n}.test` }));
    expect(await problemsOfLeaf({ names })).toEqual(problem("/certificate", "too_many_names"));
    expect(await problemsOfLeaf({ usages: ["1.3.6.1.5.5.7.3.2"] })).toEqual(
      problem("/certificate", "not_for_servers"),
    );
    expect(await problemsOfLeaf({ usages: ["1.3.6.1.5.5.7.3.2", "1.3.6.1.5.5.7.3.1"] })).toEqual([]);
  });

  test("with what is wrong in every field at once", async () => {
    expect(problemsOf({ certificate: "x", chain: "y", privateKey: "z" })).toEqual([
      "/certificate no_pem",
      "/chain no_pem",
      "/private_key no_pem",
    ]);
    const leaf = await makeCertificate({
      hash: "SHA-1",
      notAfter: NOW,
      names: [{ type: "ip", value: "::1" }],
    });
    expect(problemsOf({ certificate: leaf.pem })).toEqual([
      "/certificate no_names",
      "/certificate weak_signature",
      "/certificate expired",
      "/private_key key_mismatch",
    ]);
  });
});

/** A P-256 key in SEC 1 whose public part is not that of its private one. */
function sec1WithForeignPublicPart(d: string, x: string, y: string): string {
  const bytes = (text: string) => Buffer.from(text, "base64url");
  const der = Buffer.concat([
    Buffer.from("30770201010420", "hex"),
    bytes(d),
    Buffer.from("a00a06082a8648ce3d030107a144034200", "hex"),
    Buffer.of(4),
    bytes(x),
    bytes(y),
  ]);
  return `-----BEGIN EC PRIVATE KEY-----\n${der.toString("base64")}\n-----END EC PRIVATE KEY-----\n`;
}
