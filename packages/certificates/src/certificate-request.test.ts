import "reflect-metadata";
import { createPrivateKey, createPublicKey } from "node:crypto";
import {
  BasicConstraintsExtension,
  type Extension,
  Pkcs10CertificateRequest,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
} from "@peculiar/x509";
import { describe, expect, test } from "vitest";
import { makeCertificateRequest } from "./certificate-request.ts";
import { readCertificateRequest } from "./read-request.ts";
import { makeKeys } from "./testing/made-certificates.ts";

const signingAlgorithm = { name: "ECDSA", hash: "SHA-256" };

describe("A certificate request", () => {
  test.each([
    { what: "one name", names: ["example.test"] },
    { what: "an apex and its wildcard", names: ["example.test", "*.example.test"] },
    { what: "a hundred long names", names: Array.from({ length: 100 }, (_, n) => longName(n)) },
  ])(
    "for $what is read by another implementation with the names, the key and a signature that fits",
    async ({ names }) => {
      const { csrDer, privateKeyPem } = makeCertificateRequest(names);
      const read = new Pkcs10CertificateRequest(Uint8Array.from(csrDer));
      expect(await read.verify()).toBe(true);
      expect(read.subject).toBe("");
      const own = createPublicKey(createPrivateKey(privateKeyPem)).export({ type: "spki", format: "der" });
      expect(readCertificateRequest(csrDer)).toEqual({ names, publicKeyDer: own });
    },
  );

  test("has another key each time", () => {
    const [one, other] = [makeCertificateRequest(["a.test"]), makeCertificateRequest(["a.test"])];
    expect(one.privateKeyPem.equals(other.privateKeyPem)).toBe(false);
  });

  test.each([
    { what: "no name", names: [], text: /1 to 100/ },
    {
      what: "more than a hundred names",
      names: Array.from({ length: 101 }, (_, n) => `n${n}.test`),
      text: /1 to 100/,
    },
    { what: "a name twice", names: ["a.test", "a.test"], text: /twice/ },
    { what: "a name in upper case", names: ["A.test"], text: /"A.test"/ },
    { what: "a name that is an address", names: ["192.0.2.1"], text: /"192.0.2.1"/ },
    { what: "an asterisk inside of a name", names: ["a.*.test"], text: /"a.\*.test"/ },
    { what: "a label of 64 characters", names: [`${"a".repeat(64)}.test`], text: /not a DNS name/ },
    { what: "an empty label", names: ["a..test"], text: /not a DNS name/ },
  ])("is not made for $what", ({ names, text }) => {
    expect(() => makeCertificateRequest(names)).toThrow(text);
  });

  test("that asks for more than DNS names, or is damaged, is not taken from a region", async () => {
    const names = new SubjectAlternativeNameExtension([{ type: "dns", value: "a.test" }]);
    const requestWith = async (extensions: Extension[], name = "") => {
      const request = await Pkcs10CertificateRequestGenerator.create({
        name,
        keys: await makeKeys(),
        signingAlgorithm,
        extensions,
      });
      return Buffer.from(request.rawData);
    };
    expect(readCertificateRequest(await requestWith([names]))?.names).toEqual(["a.test"]);
    expect(
      readCertificateRequest(await requestWith([names, new BasicConstraintsExtension(true)])),
    ).toBeNull();
    expect(readCertificateRequest(await requestWith([names, names]))).toBeNull();
    expect(readCertificateRequest(await requestWith([]))).toBeNull();
    expect(readCertificateRequest(await requestWith([names], "CN=b.test"))).toBeNull();

    const { csrDer } = makeCertificateRequest(["a.test"]);
    expect(readCertificateRequest(csrDer.subarray(0, -1))).toBeNull();
    expect(readCertificateRequest(Buffer.from("hello"))).toBeNull();
    expect(readCertificateRequest(Buffer.alloc(100_000))).toBeNull();
    // The tag of a DNS name becomes that of an address for mails.
    const mail = Buffer.from(csrDer);
    mail[mail.indexOf(Buffer.from("\x82\x06a.test", "latin1"))] = 0x81;
    expect(readCertificateRequest(mail)).toBeNull();
  });
});

function longName(n: number): string {
  return `${"a".repeat(63)}.${"b".repeat(63)}.${"c".repeat(63)}.n${n}.test`;
}
