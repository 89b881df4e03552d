// Attacks on updates by whoever serves them, by their names in The Update Framework, and what a publisher may do.

import type { KeyObject } from "node:crypto";
import { expect, test } from "vitest";
import { acceptRelease, type Offer, type RefusalCode } from "./accept-release.ts";
import { type Envelope, readEnvelope, sealEnvelope } from "./envelope.ts";
import { makeKeyPair, privateKeyOf, signRelease, signSuccessor } from "./publish.ts";
import { RELEASE_LIMITS, type Release } from "./release.ts";
import { readReleaseKeys } from "./release-keys.ts";

const NOW = Date.parse("2026-11-27T12:00:00Z");

const pairs = [1, 2, 3, 4].map(() => makeKeyPair());
const [first, second, third, stranger] = pairs.map(({ publicKey, privateKey }) => ({
  publicKey,
  key: privateKeyOf(privateKey),
})) as [Signer, Signer, Signer, Signer];
type Signer = { readonly publicKey: string; readonly key: KeyObject };

const release = (change: Partial<Release> = {}): Release => ({
  kind: "kule-agent-release",
  format: 1,
  version: "1.2.0",
  channel: "stable",
  released_at: "2026-11-20T00:00:00Z",
  expires_at: "2026-12-20T00:00:00Z",
  minimum_previous_version: "1.0.0",
  rollback_to: false,
  files: [{ architecture: "x64", size_bytes: 1000, sha256: "ab".repeat(32) }],
  ...change,
});

const offer = (change: Partial<Offer> = {}): Offer => ({
  envelope: signRelease(release(), [first.key]),
  keyChain: [],
  wantedVersion: "1.2.0",
  builtIn: { generation: 1, keys: [first.publicKey] },
  known: { keys: null, highestVersion: "1.1.0", badVersions: [] },
  runningVersion: "1.1.0",
  architecture: "x64",
  nowMs: NOW,
  ...change,
});

const signed = (change: Partial<Release>, ...signers: Signer[]): Envelope =>
  signRelease(
    release(change),
    (signers.length === 0 ? [first] : signers).map(({ key }) => key),
  );

/** The signatures of one envelope over the payload of another. */
const swapped = (payload: Envelope, signatures: Envelope): Envelope => ({
  payload: payload.payload,
  signatures: signatures.signatures,
});

const successor = (generation: number, of: Signer, by: Signer): Envelope =>
  signSuccessor({ generation, keys: [of.publicKey] }, [by.key]);

const rotated = [successor(2, second, first), successor(3, third, second)];

test("a release that the publisher has signed for this agent is accepted, with its file", () => {
  expect(acceptRelease(offer())).toMatchObject({
    kind: "accepted",
    release: { version: "1.2.0" },
    file: { architecture: "x64", size_bytes: 1000 },
    keys: { generation: 1 },
  });
});

const ATTACKS: readonly { attack: string; code: RefusalCode; given: Partial<Offer> }[] = [
  {
    attack: "arbitrary software: signed by a stranger",
    code: "untrusted_key",
    given: { envelope: signed({}, stranger) },
  },
  {
    attack: "arbitrary software: the publisher's name over a stranger's signature",
    code: "bad_signature",
    given: {
      envelope: {
        payload: signed({}).payload,
        signatures: [
          { key: first.publicKey, signature: signed({}, stranger).signatures[0]?.signature ?? "" },
        ],
      },
    },
  },
  {
    attack: "arbitrary software: another payload under a true signature",
    code: "bad_signature",
    given: {
      envelope: swapped(
        signed({ files: [{ architecture: "x64", size_bytes: 9, sha256: "cd".repeat(32) }] }),
        signed({}),
      ),
    },
  },
  {
    attack: "a signature that is left out",
    code: "no_signature",
    given: { envelope: { ...signed({}), signatures: [] } },
  },
  {
    attack: "wrong software: keys that are signed as keys, offered as a release",
    code: "bad_signature",
    given: { envelope: successor(2, second, first) },
  },
  {
    attack: "wrong software: signed as a release, and of another kind",
    code: "malformed",
    given: {
      envelope: sealEnvelope("kule-agent-release", { ...release(), kind: "kule-server" }, [first.key]),
    },
  },
  {
    attack: "wrong software: a release signed as keys are",
    code: "bad_signature",
    given: { envelope: sealEnvelope("kule-agent-keys", release(), [first.key]) },
  },
  {
    attack: "mix and match: the manifest of another version than was asked for",
    code: "another_version",
    given: { envelope: signed({ version: "1.3.0" }) },
  },
  {
    attack: "mix and match: no file for this architecture",
    code: "no_file",
    given: { architecture: "arm64" },
  },
  {
    attack: "rollback: an older release of the publisher",
    code: "not_newer",
    given: { envelope: signed({ version: "1.0.5" }), wantedVersion: "1.0.5" },
  },
  {
    attack: "replay: a release between what runs and what has run",
    code: "replayed",
    given: { known: { keys: null, highestVersion: "1.4.0", badVersions: [] } },
  },
  {
    attack: "replay: the newest release that has run",
    code: "replayed",
    given: { known: { keys: null, highestVersion: "1.2.0", badVersions: [] } },
  },
  { attack: "the release that runs", code: "already_running", given: { runningVersion: "1.2.0" } },
  {
    attack: "freeze: a manifest that has expired",
    code: "expired",
    given: { nowMs: Date.parse("2026-12-20T00:00:00Z") },
  },
  {
    attack: "fast forward: numbers beyond what a version can be",
    code: "malformed",
    given: {
      envelope: sealEnvelope("kule-agent-release", { ...release(), version: "9999999.0.0" }, [first.key]),
    },
  },
  {
    attack: "endless data: a file that is larger than any may be",
    code: "malformed",
    given: {
      envelope: sealEnvelope(
        "kule-agent-release",
        {
          ...release(),
          files: [{ architecture: "x64", size_bytes: RELEASE_LIMITS.fileBytes + 1, sha256: "ab".repeat(32) }],
        },
        [first.key],
      ),
    },
  },
  {
    attack: "a version that is a path",
    code: "malformed",
    given: {
      envelope: sealEnvelope("kule-agent-release", { ...release(), version: "../../etc/x" }, [first.key]),
      wantedVersion: "../../etc/x",
    },
  },
  {
    attack: "a release that skips one which has to come before",
    code: "previous_version_too_old",
    given: { envelope: signed({ minimum_previous_version: "1.1.1" }) },
  },
  {
    attack: "a release that did not work here before",
    code: "known_bad",
    given: { known: { keys: null, highestVersion: null, badVersions: ["1.2.0"] } },
  },
  {
    attack: "key compromise: signed by a key that was replaced",
    code: "untrusted_key",
    given: { keyChain: rotated, envelope: signed({}, first) },
  },
  {
    attack: "key compromise: the newer keys are withheld from an agent that knows them",
    code: "untrusted_key",
    given: {
      known: { keys: { generation: 3, keys: [third.publicKey] }, highestVersion: null, badVersions: [] },
    },
  },
  {
    attack: "key compromise: a replaced key names another successor",
    code: "untrusted_key",
    given: {
      known: { keys: { generation: 2, keys: [second.publicKey] }, highestVersion: null, badVersions: [] },
      keyChain: [successor(2, stranger, first)],
      envelope: signed({}, stranger),
    },
  },
  {
    attack: "keys that a stranger has signed",
    code: "broken_keys",
    given: { keyChain: [successor(2, stranger, stranger)], envelope: signed({}, stranger) },
  },
  {
    attack: "keys whose signature is of other bytes",
    code: "broken_keys",
    given: {
      keyChain: [swapped(successor(2, stranger, first), successor(2, second, first))],
      envelope: signed({}, stranger),
    },
  },
  {
    attack: "keys that a release's signature is put on",
    code: "broken_keys",
    given: {
      keyChain: [
        sealEnvelope(
          "kule-agent-release",
          { kind: "kule-agent-keys", format: 1, generation: 2, keys: [stranger.publicKey] },
          [first.key],
        ),
      ],
      envelope: signed({}, stranger),
    },
  },
  {
    attack: "a generation of keys that is left out",
    code: "broken_keys",
    given: { keyChain: [successor(3, third, first)], envelope: signed({}, third) },
  },
  {
    attack: "generations in another order",
    code: "broken_keys",
    given: { keyChain: rotated.toReversed(), envelope: signed({}, third) },
  },
  {
    attack: "endless keys",
    code: "broken_keys",
    given: {
      keyChain: Array.from({ length: RELEASE_LIMITS.keyEnvelopes + 1 }, () => rotated[0] as Envelope),
    },
  },
  { attack: "a build without keys", code: "no_keys", given: { builtIn: null } },
];

test.each(ATTACKS)("$attack is refused as $code", ({ code, given }) => {
  expect(acceptRelease(offer(given))).toMatchObject({ kind: "refused", code });
});

test.each([
  { what: "by keys that were replaced twice", given: { keyChain: rotated, envelope: signed({}, third) } },
  { what: "by both generations at once", given: { keyChain: rotated, envelope: signed({}, first, third) } },
  {
    what: "by the keys that this machine remembers, without their chain",
    given: {
      known: { keys: { generation: 3, keys: [third.publicKey] }, highestVersion: null, badVersions: [] },
      envelope: signed({}, third),
    },
  },
  {
    what: "by the keys of a newer build than what this machine remembers",
    given: {
      builtIn: { generation: 3, keys: [third.publicKey] },
      known: { keys: { generation: 2, keys: [stranger.publicKey] }, highestVersion: null, badVersions: [] },
      keyChain: rotated,
      envelope: signed({}, third),
    },
  },
])("a release that is signed $what is accepted", ({ given }) => {
  expect(acceptRelease(offer(given))).toMatchObject({ kind: "accepted" });
});

test("going back is accepted only for a release that was signed for it", () => {
  const back = {
    wantedVersion: "1.0.5",
    runningVersion: "1.4.0",
    known: { keys: null, highestVersion: "1.4.0", badVersions: [] },
  };
  expect(acceptRelease(offer({ ...back, envelope: signed({ version: "1.0.5" }) }))).toMatchObject({
    code: "not_newer",
  });
  expect(
    acceptRelease(offer({ ...back, envelope: signed({ version: "1.0.5", rollback_to: true }) })),
  ).toMatchObject({ kind: "accepted" });
});

test("a candidate is older than its release, and numbers are compared as numbers", () => {
  const given = { wantedVersion: "1.10.0-rc.2", envelope: signed({ version: "1.10.0-rc.2" }) };
  expect(acceptRelease(offer({ ...given, runningVersion: "1.9.0" }))).toMatchObject({ kind: "accepted" });
  expect(acceptRelease(offer({ ...given, runningVersion: "1.10.0" }))).toMatchObject({ code: "not_newer" });
  expect(acceptRelease(offer({ ...given, runningVersion: "1.10.0-rc.10" }))).toMatchObject({
    code: "not_newer",
  });
});

test("what a later publisher adds to a release does not keep an agent from it", () => {
  const envelope = sealEnvelope("kule-agent-release", { ...release(), notes: "https://kule.example" }, [
    first.key,
  ]);
  expect(acceptRelease(offer({ envelope }))).toMatchObject({ kind: "accepted" });
});

test.each([
  { what: "no JSON", text: "{" },
  { what: "another value", text: "[]" },
  {
    what: "too large",
    text: JSON.stringify({ payload: "A".repeat(RELEASE_LIMITS.envelopeBytes), signatures: [] }),
  },
  { what: "a payload that is not base64", text: JSON.stringify({ payload: "{}", signatures: [] }) },
  {
    what: "too many signatures",
    text: JSON.stringify({
      ...signed({}),
      signatures: Array.from({ length: 9 }, () => signed({}).signatures[0]),
    }),
  },
  {
    what: "a key of another length",
    text: JSON.stringify({ ...signed({}), signatures: [{ key: "AAAA", signature: "A" }] }),
  },
])("an envelope that is $what is none", ({ text }) => {
  expect(readEnvelope(text)).toHaveProperty("problem");
});

test("an envelope is the same after it was written and read", () => {
  expect(readEnvelope(JSON.stringify(signed({})))).toEqual(signed({}));
});

test("a file of keys names 1 to 4 different ones, and its generation", () => {
  const text = (value: unknown) => JSON.stringify(value);
  const keys = pairs.map(({ publicKey }) => publicKey);
  expect(readReleaseKeys(text({ generation: 1, keys }))).toEqual({ generation: 1, keys });
  for (const wrong of [
    {},
    { generation: 0, keys },
    { generation: 1, keys: [] },
    { generation: 1, keys: [...keys, makeKeyPair().publicKey] },
    { generation: 1, keys: [keys[0], keys[0]] },
    { generation: 1, keys: ["AAAA"] },
    { generation: 1, keys: [pairs[0]?.privateKey] },
  ])
    expect(readReleaseKeys(text(wrong))).toBeNull();
  expect(readReleaseKeys("no JSON")).toBeNull();
});

test("nothing is signed that an agent would not take", () => {
  expect(() => signRelease(release({ version: "one" }), [first.key])).toThrow("version is no version");
  expect(() => signRelease(release({ expires_at: "2026-01-01T00:00:00Z" }), [first.key])).toThrow(
    "expires before",
  );
  expect(() => signSuccessor({ generation: 2, keys: ["no key"] }, [first.key])).toThrow("public keys");
});
