import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeCertificateRequest } from "../certificate-request.ts";
import { makeCertificate } from "../testing/made-certificates.ts";
import { type ScriptedCa, startScriptedCa } from "../testing/scripted-ca.ts";
import { openAccount } from "./account.ts";
import { makeAccountKey } from "./account-key.ts";
import { openAcmeClient } from "./acme-client.ts";
import { AcmeGone, AcmeRefused, AcmeUnavailable } from "./acme-error.ts";
import { answerChallenge } from "./authorization.ts";
import { downloadCertificate } from "./issued-certificate.ts";
import { createOrder, finalizeOrder } from "./order.ts";
import { readRenewalInfo, renewalIdentifier } from "./renewal-info.ts";

const key = makeAccountKey();
let ca: ScriptedCa;
let pem: string;
beforeAll(async () => {
  ca = await startScriptedCa();
  ({ pem } = await makeCertificate({ authorityKeyId: "0102" }));
});
afterAll(() => ca.close());

const RUNS = 400;
const NAMES = [
  ...["status", "identifiers", "identifier", "authorizations", "finalize", "certificate", "expires", "error"],
  ...["challenges", "type", "url", "token", "wildcard", "value", "detail", "subproblems", "suggestedWindow"],
  ...["start", "end", "explanationURL", "newNonce", "newAccount", "newOrder", "renewalInfo", "meta"],
];
const URL_OF_NOBODY = "http://127.0.0.1:1/";
/** An order, an authorisation, an account, a directory and renewal information in one. */
const RIGHT = {
  status: "valid",
  identifiers: [{ type: "dns", value: "a.test" }],
  identifier: { type: "dns", value: "a.test" },
  authorizations: [URL_OF_NOBODY],
  finalize: URL_OF_NOBODY,
  certificate: URL_OF_NOBODY,
  challenges: [{ type: "dns-01", url: URL_OF_NOBODY, status: "valid", token: "token" }],
  suggestedWindow: { start: "2026-07-01T00:00:00Z", end: "2026-07-02T00:00:00Z" },
  error: {
    type: "urn:ietf:params:acme:error:dns",
    detail: "no record",
    subproblems: [{ type: "other", detail: "no", identifier: { type: "dns", value: "a.test" } }],
  },
  type: "urn:ietf:params:acme:error:unauthorized",
  detail: "no",
  subproblems: [{ type: "other", detail: "no", identifier: { type: "dns", value: "a.test" } }],
  newNonce: URL_OF_NOBODY,
  newAccount: URL_OF_NOBODY,
  newOrder: URL_OF_NOBODY,
  meta: { termsOfService: URL_OF_NOBODY },
};
const words = fc.constantFrom(
  ...["pending", "ready", "processing", "valid", "invalid", "dns-01", "http-01", "dns", "a.test", "token"],
  ...["2026-07-01T00:00:00Z", "https://", "urn:ietf:params:acme:error:badNonce", "__proto__", ""],
);
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    words,
    fc.constantFrom(null, true, 0, -1, 1e308),
    fc.string({ maxLength: 20 }),
    fc.array(tie("json"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...NAMES), tie("json"), { maxKeys: 8 }),
  ),
}));
/** Every place in RIGHT: fields, entries of lists, and fields of those. */
const PLACES = placesIn(RIGHT);
const answer = fc.record({
  status: fc.oneof(
    { weight: 5, arbitrary: fc.constant(200) },
    { weight: 2, arbitrary: fc.constantFrom(204, 301, 400, 403, 404, 409, 429, 500, 503) },
  ),
  headers: fc.record({
    Location: fc.oneof(
      { weight: 5, arbitrary: fc.constant(URL_OF_NOBODY) },
      { weight: 1, arbitrary: fc.constantFrom("", "/relative", "https://[", "ftp://a.test") },
    ),
    "Retry-After": fc.constantFrom("0", "-1", "1e9", "99999999999999", "Tue, 99 Foo", "x".repeat(500)),
    "Content-Type": fc.constantFrom("application/json", "application/problem+json", "text/html"),
  }),
  /** What is right, with something in it replaced; or anything. */
  body: fc.oneof(
    {
      weight: 6,
      arbitrary: fc
        .tuple(fc.constantFrom(...PLACES), json)
        .map(([place, value]) => replaceAt(RIGHT, place, value)),
    },
    { weight: 1, arbitrary: json },
  ),
});

describe("Whatever a CA answers", () => {
  test("is a value or one of the three errors, with a short text", async () => {
    const { csrDer } = makeCertificateRequest(["a.test"]);
    const settings = { directoryUrl: ca.directoryUrl, network: "any", allowHttp: true } as const;
    const client = openAcmeClient(settings);
    let values = 0;
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 6 }), answer, async (place, script) => {
        const account = { key, accountUrl: `${ca.origin}/account` };
        const url = `${ca.origin}/any`;
        const renewal = `/renewalInfo/${renewalIdentifier(pem)}`;
        for (const path of ["/any", "/newOrder", "/newAccount", renewal]) ca.on(path, script);
        const calls: readonly (() => Promise<unknown>)[] = [
          () => readDirectory(url),
          () => createOrder(client, account, { names: ["a.test"], replaces: "a.b" }),
          () => openAccount(client, key, { contactEmails: [], agreesToTerms: true }),
          () => finalizeOrder(client, account, url, csrDer),
          () => answerChallenge(client, account, url, "dns-01"),
          () => downloadCertificate(client, account, url, csrDer),
          () => readRenewalInfo(client, pem),
        ];
        try {
          await calls[place]?.();
          values += 1;
        } catch (error) {
          const isKnown = [AcmeUnavailable, AcmeRefused, AcmeGone].some((each) => error instanceof each);
          if (!isKnown) throw error;
          expect(String(error).length).toBeLessThan(1_200);
        }
      }),
      { numRuns: RUNS, seed: 20_260_601 },
    );
    client.close();
    // Where nothing is taken, only the first check is tried.
    expect(values).toBeGreaterThan(RUNS / 5);
  });
});

/** By a client of its own: one keeps the directory that it has read. */
async function readDirectory(directoryUrl: string): Promise<void> {
  const client = openAcmeClient({ directoryUrl, network: "any", allowHttp: true });
  await client.directory().finally(() => client.close());
}

type Place = readonly (string | number)[];

function placesIn(value: unknown, place: Place = []): readonly Place[] {
  if (value === null || typeof value !== "object") return [place];
  const inside = Object.entries(value).flatMap(([name, each]) => placesIn(each, [...place, name]));
  return place.length === 0 ? inside : [place, ...inside];
}

function replaceAt(value: unknown, [first, ...rest]: Place, by: unknown): unknown {
  if (first === undefined) return by;
  const copy: unknown = structuredClone(value);
  const object = copy as Record<string | number, unknown>;
  object[first] = replaceAt(object[first], rest, by);
  return copy;
}
