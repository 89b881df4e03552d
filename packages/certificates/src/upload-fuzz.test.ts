import { inspect } from "node:util";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { type CertificateUpload, readUploadedCertificate } from "./read-upload.ts";
import { type MadeChain, makeCertificate, makeChain, NOW } from "./testing/made-certificates.ts";

let made: MadeChain;
let pieces: readonly string[];
let keyLines: readonly string[];
beforeAll(async () => {
  made = await makeChain();
  const other = await makeCertificate({ subject: "CN=Other", isCa: true });
  const certificates = [made.leaf, made.intermediate, made.root, other].map(({ pem }) => pem);
  pieces = [...certificates, made.leaf.keyPem, other.keyPem, "-----BEGIN CERTIFICATE-----", "\0", "\n"];
  keyLines = made.leaf.keyPem.split("\n").filter((line) => line.length > 16 && !line.startsWith("-"));
});

const place = fc.nat({ max: 3_000 });
/** A change of a text: characters taken away at a place, and others put there. */
const change = fc.record({
  at: place,
  removed: fc.nat({ max: 200 }),
  added: fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.constantFrom("-----", "=", "A", "\r\n", "ENCRYPTED ", "Proc-Type: 4,ENCRYPTED\n"),
  ),
});
const field = fc.record({
  pieces: fc.array(fc.nat({ max: 8 }), { maxLength: 5 }),
  changes: fc.array(change, { maxLength: 3 }),
});
const RUNS = 400;

describe("Whatever is uploaded", () => {
  test("is read or refused with known fields, never thrown at, and no line of the key is in what is said", () => {
    const textOf = (wish: {
      pieces: readonly number[];
      changes: readonly { at: number; removed: number; added: string }[];
    }) =>
      wish.changes.reduce(
        (text, { at, removed, added }) => text.slice(0, at) + added + text.slice(at + removed),
        wish.pieces.map((index) => pieces[index] ?? "").join(""),
      );
    let taken = 0;
    fc.assert(
      fc.property(field, field, field, (certificate, chain, key) => {
        const upload: CertificateUpload = {
          certificate: made.leaf.pem + textOf(certificate),
          chain: textOf(chain),
          privateKey: textOf({ ...key, pieces: [4, ...key.pieces.slice(0, key.changes.length)] }),
        };
        const reading = readUploadedCertificate(upload, NOW);
        if ("facts" in reading) {
          taken += 1;
          expect(reading.facts.names).toEqual(["example.test"]);
        }
        for (const problem of reading.problems) {
          expect(["/certificate", "/chain", "/private_key"]).toContain(problem.field);
          expect(problem.text.length).toBeLessThan(600);
        }
        const { privateKey: _, ...said } = { privateKey: null, ...reading };
        const text = inspect(said, { depth: 10, maxStringLength: null });
        for (const line of keyLines) expect(text).not.toContain(line);
      }),
      { numRuns: RUNS, seed: 20_260_601 },
    );
    // A fuzz that is refused at the first check would prove nothing about the others.
    expect(taken).toBeGreaterThan(RUNS / 50);
  });
});
