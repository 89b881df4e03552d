import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { acceptRelease, type Offer } from "@kule/agent-release/accept-release";
import { type Envelope, readEnvelope } from "@kule/agent-release/envelope";
import { readReleaseKeys } from "@kule/agent-release/release-keys";
import { afterEach, beforeEach, expect, test } from "vitest";
import { addRelease, makeFirstKeys, rotateKeys, type Signing } from "./release-folder.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kule-release-"));
  mkdirSync(join(folder, "dist"));
  writeFileSync(at("dist/kule-agent-1.2.0-linux-x64"), "the binary for x64");
  writeFileSync(at("dist/kule-agent-1.2.0-linux-arm64"), "the binary for arm64");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const at = (name: string) => join(folder, name);

const signing = (change: Partial<Signing> = {}): Signing => ({
  version: "1.2.0",
  keyFiles: [at("first.key")],
  binaries: at("dist"),
  releases: at("releases"),
  channel: "stable",
  minimumPreviousVersion: "1.0.0",
  rollbackTo: false,
  days: 90,
  now: new Date("2026-11-27T00:00:00Z"),
  ...change,
});

/** As an agent of 1.1.0 that was built with the first keys. */
function offer(builtIn = readReleaseKeys(readFileSync(at("keys.json"), "utf8"))): Offer {
  const envelope = readEnvelope(readFileSync(at("releases/1.2.0/manifest.json"), "utf8"));
  if ("problem" in envelope) throw new Error(envelope.problem);
  const chain = at("releases/keys.json");
  return {
    envelope,
    keyChain: existsSync(chain)
      ? (JSON.parse(readFileSync(chain, "utf8")) as { envelopes: Envelope[] }).envelopes
      : [],
    wantedVersion: "1.2.0",
    builtIn,
    known: { keys: null, highestVersion: null, badVersions: [] },
    runningVersion: "1.1.0",
    architecture: "arm64",
    nowMs: Date.parse("2026-12-01T00:00:00Z"),
  };
}

test("a release has the binaries of its version, and an agent takes it", () => {
  makeFirstKeys([at("first.key")], at("keys.json"));
  expect(addRelease(signing())).toBe(at("releases/1.2.0"));
  expect(readdirSync(at("releases/1.2.0")).sort()).toEqual([
    "kule-agent-1.2.0-linux-arm64",
    "kule-agent-1.2.0-linux-x64",
    "manifest.json",
  ]);
  expect(acceptRelease(offer())).toMatchObject({
    kind: "accepted",
    release: { channel: "stable", expires_at: "2027-02-25T00:00:00.000Z", rollback_to: false },
    file: { architecture: "arm64", size_bytes: 20 },
  });
});

test("only their owner reads private keys, and none is written over", () => {
  makeFirstKeys([at("first.key"), at("second.key")], at("keys.json"));
  for (const name of ["first.key", "second.key"]) expect(statSync(at(name)).mode & 0o777).toBe(0o600);
  expect(readFileSync(at("keys.json"), "utf8")).not.toContain("PRIVATE");
  expect(() => makeFirstKeys([at("third.key")], at("keys.json"))).toThrow("rotate makes the next generation");
  expect(() => makeFirstKeys([at("first.key")], at("other.json"))).toThrow("EEXIST");
});

test("agents follow keys that were rotated, and take nothing of the former ones", () => {
  const first = makeFirstKeys([at("first.key")], at("keys.json"));
  rotateKeys([at("first.key")], [at("second.key")], at("keys.json"), at("releases"));
  const third = rotateKeys([at("second.key")], [at("third.key")], at("keys.json"), at("releases"));
  expect(third.generation).toBe(3);
  addRelease(signing({ keyFiles: [at("third.key")] }));
  expect(acceptRelease(offer(first))).toMatchObject({ kind: "accepted", keys: third });
  rmSync(at("releases/1.2.0"), { recursive: true });
  addRelease(signing());
  expect(acceptRelease(offer(first))).toMatchObject({ code: "untrusted_key" });
});

test("keys that no agent would follow are not rotated to", () => {
  makeFirstKeys([at("first.key")], at("keys.json"));
  makeFirstKeys([at("stranger.key")], at("strangers.json"));
  expect(() => rotateKeys([at("stranger.key")], [at("second.key")], at("keys.json"), at("releases"))).toThrow(
    "agents would not follow",
  );
  expect(existsSync(at("releases/keys.json"))).toBe(false);
});

test.each([
  { what: "that is none", change: { version: "1.2" }, says: "is no version" },
  { what: "without a binary", change: { version: "1.3.0" }, says: "npm run agent-binary -- --version 1.3.0" },
  { what: "that expires before it begins", change: { days: -1 }, says: "expires before" },
])("a version $what is not released", ({ change, says }) => {
  makeFirstKeys([at("first.key")], at("keys.json"));
  expect(() => addRelease(signing(change))).toThrow(says);
  expect(existsSync(at(`releases/${change.version ?? "1.2.0"}`))).toBe(false);
});

test("a version is released once", () => {
  makeFirstKeys([at("first.key")], at("keys.json"));
  addRelease(signing());
  expect(() => addRelease(signing())).toThrow("a version is released once");
});
