import { constants } from "node:fs";
import { open, opendir } from "node:fs/promises";
import { join } from "node:path";
import { asEnvelope, type Envelope, readEnvelope } from "@kule/agent-release/envelope";
import {
  type Architecture,
  RELEASE_LIMITS,
  type Release,
  type ReleaseFile,
  releaseFileName,
  releaseProblem,
} from "@kule/agent-release/release";
import { compareVersions, isVersion } from "@kule/agent-release/version";
import { type CheckedFile, FileChecks } from "./file-checks.ts";

/** A release that the folder has a manifest of. */
export type KnownRelease = {
  readonly release: Release;
  readonly envelope: Envelope;
  readonly files: readonly KnownFile[];
};

export type KnownFile = ReleaseFile & {
  readonly path: string;
  /** Null until its bytes have been compared with the manifest. */
  readonly checked: CheckedFile | null;
};

export type FolderProblem = { readonly path: string; readonly message: string };

export type FolderContents = {
  readonly readAt: Date;
  /** The newest version first. */
  readonly releases: readonly KnownRelease[];
  /** Successors of the publisher's keys, in their order. */
  readonly keys: readonly Envelope[];
  readonly problems: readonly FolderProblem[];
};

/** How often the folder is read again, at most. */
const readEveryMs = 30_000;
/** A request waits for this; comparing half a gigabyte takes about as long. */
const longestCheckMs = 5_000;
const mostReleases = 200;
/** A folder with more entries is none of releases. */
const mostEntries = 10_000;
const mostProblems = 100;
/** `keys.json` has a list of so many envelopes. */
const keysBytes = RELEASE_LIMITS.keyEnvelopes * RELEASE_LIMITS.envelopeBytes;

/**
 * The folder with the releases of the agent: `<version>/manifest.json` with its files, and `keys.json`. Nobody vouches for it
 * here, as every agent verifies the publisher's signature. What is looked at is that a file has the bytes of its manifest, once for
 * each file, one file after the other.
 */
export class ReleaseFolder {
  readonly path: string | null;
  readonly #checks = new FileChecks();
  readonly #everyMs: number;
  #known: FolderContents | null = null;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<FolderContents> | null = null;

  /** @param path null: there is no folder, and no release */
  constructor(path: string | null, everyMs: number = readEveryMs) {
    this.path = path;
    this.#everyMs = everyMs;
  }

  /** What the folder has now, or had up to half a minute ago; null without one. */
  async read(): Promise<FolderContents | null> {
    const { path } = this;
    if (path === null) return null;
    if (this.#known === null || performance.now() - this.#readAtMs >= this.#everyMs) {
      this.#reading ??= this.#readAgain(path).finally(() => {
        this.#reading = null;
      });
      this.#known = await this.#reading;
    }
    return { ...this.#known, releases: this.#known.releases.map((each) => this.#withChecks(each)) };
  }

  async find(version: string): Promise<KnownRelease | null> {
    const contents = await this.read();
    return contents?.releases.find(({ release }) => release.version === version) ?? null;
  }

  /** Resolves when every file that was found has been compared with its manifest. */
  async checked(): Promise<FolderContents | null> {
    await this.read();
    await this.#checks.idle();
    return this.read();
  }

  /** The file with what is known of its bytes. One that waits to be compared is compared next, which may take a moment. */
  async checkedSoon(file: KnownFile): Promise<KnownFile> {
    return { ...file, checked: file.checked ?? (await this.#checks.soon(file, longestCheckMs)) };
  }

  /** Another file may be in its place than the one that was compared. */
  checkAgain(file: KnownFile): Promise<void> {
    return this.#checks.begin(file);
  }

  stop(): void {
    this.#checks.stop();
  }

  async #readAgain(path: string): Promise<FolderContents> {
    const contents = await readFolder(path);
    this.#readAtMs = performance.now();
    for (const { files } of contents.releases) for (const file of files) await this.#checks.begin(file);
    return contents;
  }

  #withChecks(known: KnownRelease): KnownRelease {
    return { ...known, files: known.files.map((file) => ({ ...file, checked: this.#checks.of(file) })) };
  }
}

async function readFolder(folder: string): Promise<FolderContents> {
  const readAt = new Date();
  const problems: FolderProblem[] = [];
  const wrong = (path: string, message: string) => {
    if (problems.length < mostProblems) problems.push({ path, message });
  };
  const versions = await versionsIn(folder, wrong);
  const releases: KnownRelease[] = [];
  for (const version of versions) {
    const known = await readRelease(folder, version);
    if (typeof known === "string") wrong(`${version}/manifest.json`, known);
    else releases.push(known);
  }
  return { readAt, releases, keys: await readKeys(folder, wrong), problems };
}

type Wrong = (path: string, message: string) => void;

async function versionsIn(folder: string, wrong: Wrong): Promise<string[]> {
  const versions: string[] = [];
  let entries = 0;
  try {
    for await (const { name } of await opendir(folder)) {
      entries += 1;
      if (entries > mostEntries) {
        wrong(".", `it has more than ${mostEntries} entries, and the others are not looked at`);
        break;
      }
      if (isVersion(name)) versions.push(name);
      // Hidden entries are of the file system, or on their way in.
      else if (name !== "keys.json" && !name.startsWith("."))
        wrong(name.slice(0, 100), "its name is no version");
    }
  } catch (error) {
    wrong(".", `it cannot be read (${codeOf(error)})`);
    return [];
  }
  versions.sort((one, other) => compareVersions(other, one));
  if (versions.length > mostReleases)
    wrong(".", `it has ${versions.length} releases, of which the newest ${mostReleases} are offered`);
  return versions.slice(0, mostReleases);
}

/** The release, or why it is none. */
async function readRelease(folder: string, version: string): Promise<KnownRelease | string> {
  const text = await readSmall(join(folder, version, "manifest.json"), RELEASE_LIMITS.envelopeBytes);
  if (text.problem !== null) return text.problem;
  const envelope = readEnvelope(text.text);
  if ("problem" in envelope) return envelope.problem;
  const release = payloadOf(envelope);
  const problem = releaseProblem(release);
  if (problem !== null) return problem;
  const { files, ...rest } = release as Release;
  if (rest.version !== version) return `it is the manifest of ${rest.version}`;
  return {
    release: { ...rest, files },
    envelope,
    files: files.map((file) => ({
      ...file,
      path: pathOf(folder, version, file.architecture),
      checked: null,
    })),
  };
}

const pathOf = (folder: string, version: string, architecture: Architecture): string =>
  join(folder, version, releaseFileName(version, architecture));

/** What is signed, whoever has signed it. */
function payloadOf({ payload }: Envelope): unknown {
  try {
    return JSON.parse(Buffer.from(payload, "base64").toString("utf8"));
  } catch {
    return null;
  }
}

async function readKeys(folder: string, wrong: Wrong): Promise<Envelope[]> {
  const read = await readSmall(join(folder, "keys.json"), keysBytes);
  // Without any, the keys in the agents' binaries are the current ones.
  if (read.problem !== null) {
    if (read.problem !== missing) wrong("keys.json", read.problem);
    return [];
  }
  const envelopes = envelopesOf(read.text);
  if (typeof envelopes !== "string") return envelopes;
  wrong("keys.json", envelopes);
  return [];
}

function envelopesOf(text: string): Envelope[] | string {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    return "it is no JSON";
  }
  const value = (file as { envelopes?: unknown } | null)?.envelopes;
  if (!Array.isArray(value)) return "it has no list of envelopes";
  if (value.length > RELEASE_LIMITS.keyEnvelopes)
    return `it has more than ${RELEASE_LIMITS.keyEnvelopes} envelopes`;
  const envelopes = value.map(asEnvelope);
  return envelopes.every((each): each is Envelope => !("problem" in each))
    ? envelopes
    : "one of its envelopes is none";
}

const missing = "there is none";

type Small = { readonly text: string; readonly problem: null } | { readonly problem: string };

/** A file of a few kilobytes; a pipe or a device in its place must not hold us. */
async function readSmall(path: string, mostBytes: number): Promise<Small> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = await file.stat();
      if (!stat.isFile()) return { problem: "it is no file" };
      const bytes = Buffer.alloc(mostBytes + 1);
      let length = 0;
      for (;;) {
        const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
        if (bytesRead === 0) break;
        length += bytesRead;
        if (length > mostBytes) return { problem: `it is larger than ${mostBytes} bytes` };
      }
      return { text: bytes.toString("utf8", 0, length), problem: null };
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = codeOf(error);
    return { problem: code === "ENOENT" || code === "ENOTDIR" ? missing : `it cannot be read (${code})` };
  }
}

const codeOf = (error: unknown): string => String((error as { code?: unknown }).code ?? "unknown error");
