// The folder that the control plane serves releases from: `<version>/manifest.json` with its files, and `keys.json`.

import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { asEnvelope, type Envelope } from "@kule/agent-release/envelope";
import { makeKeyPair, privateKeyOf, signRelease, signSuccessor } from "@kule/agent-release/publish";
import {
  ARCHITECTURES,
  RELEASE_LIMITS,
  type Release,
  type ReleaseFile,
  releaseFileName,
} from "@kule/agent-release/release";
import { type ReleaseKeys, readReleaseKeys } from "@kule/agent-release/release-keys";
import { isVersion } from "@kule/agent-release/version";

const DAY_MILLISECONDS = 86_400_000;

/** Makes a private key, which only its owner can read. @returns its public half, in base64 */
export function makePrivateKey(path: string): string {
  const { publicKey, privateKey } = makeKeyPair();
  writeFileSync(path, privateKey, { flag: "wx", mode: 0o600 });
  return publicKey;
}

/** Makes the keys of the first generation, and the file that builds are given. */
export function makeFirstKeys(keyFiles: readonly string[], keysFile: string): ReleaseKeys {
  if (existsSync(keysFile)) throw new Error(`${keysFile} is there already: rotate makes the next generation`);
  const keys = { generation: 1, keys: keyFiles.map(makePrivateKey) };
  writeFileSync(keysFile, `${JSON.stringify(keys)}\n`, { flag: "wx" });
  return keys;
}

const readKey = (path: string) => privateKeyOf(readFileSync(path, "utf8"));

export type Signing = {
  readonly version: string;
  /** Private ones, by their files. */
  readonly keyFiles: readonly string[];
  /** Where `npm run agent-binary` has put the binaries. */
  readonly binaries: string;
  readonly releases: string;
  readonly channel: Release["channel"];
  readonly minimumPreviousVersion: string;
  readonly rollbackTo: boolean;
  readonly days: number;
  readonly now: Date;
};

/** Puts a release into the folder: whoever serves it sees all of it or nothing. @returns its folder */
export function addRelease(signing: Signing): string {
  const { version, binaries, releases, now } = signing;
  if (!isVersion(version)) throw new Error(`${version} is no version such as 1.4.0 or 1.4.0-rc.2`);
  const place = join(releases, version);
  if (existsSync(place)) throw new Error(`${place} is there already: a version is released once`);
  const draft = join(releases, `.${version}.new`);
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  const files: ReleaseFile[] = [];
  for (const architecture of ARCHITECTURES) {
    const name = releaseFileName(version, architecture);
    if (!existsSync(join(binaries, name))) continue;
    copyFileSync(join(binaries, name), join(draft, name));
    chmodSync(join(draft, name), 0o644);
    files.push({
      architecture,
      size_bytes: statSync(join(draft, name)).size,
      sha256: digestOf(join(draft, name)),
    });
  }
  if (files.length === 0)
    throw new Error(
      `${binaries} has no ${releaseFileName(version, "x64")}: npm run agent-binary -- --version ${version}`,
    );
  const release: Release = {
    kind: "kule-agent-release",
    format: 1,
    version,
    channel: signing.channel,
    released_at: now.toISOString(),
    expires_at: new Date(now.getTime() + signing.days * DAY_MILLISECONDS).toISOString(),
    minimum_previous_version: signing.minimumPreviousVersion,
    rollback_to: signing.rollbackTo,
    files,
  };
  const envelope = signRelease(release, signing.keyFiles.map(readKey));
  writeFileSync(join(draft, "manifest.json"), `${JSON.stringify(envelope)}\n`);
  renameSync(draft, place);
  return place;
}

/** Makes the keys of the next generation, lets those of the one before sign them, and adds them to the folder. */
export function rotateKeys(
  oldKeyFiles: readonly string[],
  newKeyFiles: readonly string[],
  keysFile: string,
  releases: string,
): ReleaseKeys {
  const before = readReleaseKeys(readFileSync(keysFile, "utf8"));
  if (before === null) throw new Error(`${keysFile} does not name public keys and their generation`);
  const chain = keyChain(releases);
  if (chain.length >= RELEASE_LIMITS.keyEnvelopes)
    throw new Error(
      `agents know at most ${RELEASE_LIMITS.keyEnvelopes} generations after the one of their build`,
    );
  const signers = oldKeyFiles.map(readKey);
  const next = { generation: before.generation + 1, keys: newKeyFiles.map(makePrivateKey) };
  const envelope = signSuccessor(next, signers);
  if (!envelope.signatures.some(({ key }) => before.keys.includes(key)))
    throw new Error(`none of the keys is one of generation ${before.generation}: agents would not follow`);
  mkdirSync(releases, { recursive: true });
  replace(join(releases, "keys.json"), `${JSON.stringify({ envelopes: [...chain, envelope] })}\n`);
  replace(keysFile, `${JSON.stringify(next)}\n`);
  return next;
}

function keyChain(releases: string): Envelope[] {
  const path = join(releases, "keys.json");
  if (!existsSync(path)) return [];
  const { envelopes } = JSON.parse(readFileSync(path, "utf8")) as { envelopes: unknown[] };
  return envelopes.map((each) => {
    const envelope = asEnvelope(each);
    if ("problem" in envelope) throw new Error(`${path}: ${envelope.problem}`);
    return envelope;
  });
}

function replace(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

const digestOf = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");
