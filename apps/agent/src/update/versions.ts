// The folders of versions and the links to them. Every change takes its place by a rename that is on the disk before the next
// one begins, so that the links lead to a complete version at every moment.

import { createHash } from "node:crypto";
import {
  closeSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import type { ReleaseFile } from "@kule/agent-release/release";
import { isVersion } from "@kule/agent-release/version";
import type { CrashHook } from "@kule/crash-points/crash-hook";
import { BINARY_NAME, LAYOUT } from "../install/layout.ts";
import { syncFolder } from "./machine-state.ts";

const DRAFT = ".new-";
const CHUNK_BYTES = 1 << 20;
/** That stays free beside a version. */
const SPARE_BYTES = 32 << 20;

/** A version could not be put on this machine. The code is for programs. */
export class StagingFailed extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.name = "StagingFailed";
    this.code = code;
  }
}

export class VersionFolders {
  readonly #root: string;
  readonly #crashPoint: CrashHook;

  constructor(root: string, crashPoint: CrashHook) {
    this.#root = root;
    this.#crashPoint = crashPoint;
  }

  /** Complete ones. */
  list(): string[] {
    return this.#names().filter((name) => isVersion(name) && this.#isComplete(name));
  }

  drafts(): string[] {
    return this.#names().filter((name) => name.startsWith(DRAFT));
  }

  binaryOf(version: string): string {
    return join(this.#root, LAYOUT.versions, version, BINARY_NAME);
  }

  /** The version that the agent's link leads to. */
  current(): string | null {
    return this.#versionAt(LAYOUT.binary);
  }

  updater(): string | null {
    return this.#versionAt(LAYOUT.updater);
  }

  /**
   * Copies what was downloaded, and keeps it when its bytes are those of the signed manifest.
   *
   * @param source a file that others may write to: what is verified is the copy
   * @throws StagingFailed
   */
  async stage(
    version: string,
    { size_bytes: size, sha256 }: ReleaseFile,
    source: number | null,
  ): Promise<void> {
    const place = join(this.#root, LAYOUT.versions, version);
    if (this.#isComplete(version) && digestOf(this.binaryOf(version)) === sha256) return;
    if (source === null)
      throw new StagingFailed("not_downloaded", `there is no downloaded file of ${version}`);
    if (fstatSync(source).size !== size)
      throw new StagingFailed(
        "wrong_file",
        `the downloaded file of ${version} has another size than its manifest says`,
      );
    const { bavail, bsize } = statfsSync(join(this.#root, LAYOUT.versions));
    if (bavail * bsize < size + SPARE_BYTES)
      throw new StagingFailed(
        "no_space",
        `${LAYOUT.versions} has ${Math.floor((bavail * bsize) / (1 << 20))} MB left, and ${version} needs ${Math.ceil((size + SPARE_BYTES) / (1 << 20))} MB`,
      );
    const draft = join(this.#root, LAYOUT.versions, `${DRAFT}${version}`);
    rmSync(draft, { recursive: true, force: true });
    try {
      mkdirSync(draft, { mode: 0o755 });
      await this.#crashPoint("update.stage.folder-made");
      const digest = await this.#copy(source, join(draft, BINARY_NAME), size);
      if (digest !== sha256)
        throw new StagingFailed(
          "wrong_file",
          `the downloaded file of ${version} is not the one of its manifest`,
        );
      syncFolder(draft);
      await this.#crashPoint("update.stage.verified");
      // Left by an interrupted run of another build of this version; nothing leads to it.
      rmSync(place, { recursive: true, force: true });
      renameSync(draft, place);
      await this.#crashPoint("update.stage.renamed");
      syncFolder(dirname(place));
    } catch (error) {
      rmSync(draft, { recursive: true, force: true });
      if (codeOf(error) === "ENOSPC" || codeOf(error) === "EDQUOT")
        throw new StagingFailed("no_space", `${LAYOUT.versions} is full`);
      throw error;
    }
  }

  /** @param back the version of a link that is made ready, so that the way back needs no space on the disk */
  async swap(to: string, back: string | null): Promise<void> {
    const link = join(this.#root, LAYOUT.binary);
    const folder = dirname(link);
    const [ready, next] = [join(folder, ".back"), join(folder, ".next")];
    if (back !== null) this.#link(ready, back, "bin");
    await this.#crashPoint("update.swap.back-made");
    if (back === null && this.#target(ready) === to) renameSync(ready, link);
    else {
      this.#link(next, to, "bin");
      await this.#crashPoint("update.swap.link-made");
      renameSync(next, link);
    }
    await this.#crashPoint("update.swap.renamed");
    syncFolder(folder);
  }

  async pointUpdater(to: string): Promise<void> {
    const link = join(this.#root, LAYOUT.updater);
    const next = join(dirname(link), ".updater");
    this.#link(next, to, "top");
    await this.#crashPoint("update.point-updater.link-made");
    renameSync(next, link);
    syncFolder(dirname(link));
  }

  async remove(names: readonly string[]): Promise<void> {
    for (const name of names) {
      // First out of the way: what is half removed is no version any more.
      const doomed = join(this.#root, LAYOUT.versions, name.startsWith(DRAFT) ? name : `${DRAFT}${name}`);
      if (!name.startsWith(DRAFT)) {
        rmSync(doomed, { recursive: true, force: true });
        renameSync(join(this.#root, LAYOUT.versions, name), doomed);
      }
      await this.#crashPoint("update.remove.set-aside");
      rmSync(doomed, { recursive: true, force: true });
    }
  }

  #names(): string[] {
    try {
      return readdirSync(join(this.#root, LAYOUT.versions));
    } catch (error) {
      if (codeOf(error) === "ENOENT") return [];
      throw error;
    }
  }

  #isComplete(version: string): boolean {
    return lstatSync(this.binaryOf(version), { throwIfNoEntry: false })?.isFile() === true;
  }

  #versionAt(path: string): string | null {
    const version = this.#target(join(this.#root, path));
    return version !== null && this.#isComplete(version) ? version : null;
  }

  /** The version that a link of ours names. */
  #target(path: string): string | null {
    try {
      const version = basename(dirname(readlinkSync(path)));
      return isVersion(version) ? version : null;
    } catch {
      return null;
    }
  }

  #link(path: string, version: string, from: "bin" | "top"): void {
    rmSync(path, { force: true });
    symlinkSync(linkTo(version, from), path);
  }

  async #copy(source: number, path: string, size: number): Promise<string> {
    const hash = createHash("sha256");
    const target = openSync(path, "wx", 0o755);
    try {
      const chunk = Buffer.alloc(CHUNK_BYTES);
      let copied = 0;
      // No further than the manifest says, whatever is appended meanwhile.
      while (copied < size) {
        const length = readSync(source, chunk, 0, Math.min(CHUNK_BYTES, size - copied), copied);
        if (length === 0) break;
        hash.update(chunk.subarray(0, length));
        for (let written = 0; written < length; )
          written += writeSync(target, chunk, written, length - written, copied + written);
        copied += length;
      }
      await this.#crashPoint("update.stage.copied");
      fsyncSync(target);
    } finally {
      closeSync(target);
    }
    return hash.digest("hex");
  }
}

/** Relative, so that it is the same below a folder that stands for /. */
export const linkTo = (version: string, from: "bin" | "top"): string =>
  `${from === "bin" ? "../" : ""}versions/${version}/${BINARY_NAME}`;

export function digestOf(path: string): string {
  const hash = createHash("sha256");
  const file = openSync(path, "r");
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (;;) {
      const length = readSync(file, chunk);
      if (length === 0) return hash.digest("hex");
      hash.update(chunk.subarray(0, length));
    }
  } finally {
    closeSync(file);
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "";
