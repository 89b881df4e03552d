import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeKeyPair, privateKeyOf, signRelease } from "@kule/agent-release/publish";
import { ARCHITECTURES, type Release, releaseFileName } from "@kule/agent-release/release";
import { rolledOut } from "./rollouts.ts";

/** A folder of releases, as a publisher makes it. Its files are not binaries, which nobody here starts. */
export class ReleaseFolders {
  readonly path: string;
  readonly #keys = makeKeyPair();

  constructor() {
    this.path = mkdtempSync(join(tmpdir(), "kule-releases-"));
  }

  /** @returns the bytes of its file for x64 */
  add(version: string, more: Partial<Release> = {}, bytes: Buffer = randomBytes(100_000)): Buffer {
    const folder = join(this.path, version);
    mkdirSync(folder, { recursive: true });
    const architectures = more.files?.map(({ architecture }) => architecture) ?? ARCHITECTURES;
    const files = architectures.map((architecture) => ({
      architecture,
      size_bytes: bytes.length,
      sha256: createHash("sha256").update(bytes).digest("hex"),
    }));
    for (const { architecture } of files) writeFileSync(this.fileOf(version, architecture), bytes);
    const release: Release = {
      ...{ kind: "kule-agent-release", format: 1, version, channel: "stable" },
      ...{ released_at: "2026-01-01T00:00:00Z", expires_at: "2100-01-01T00:00:00Z" },
      ...{ minimum_previous_version: "0.0.0", rollback_to: false, files },
      ...more,
    };
    const envelope = signRelease(release, [privateKeyOf(this.#keys.privateKey)]);
    writeFileSync(join(folder, "manifest.json"), JSON.stringify(envelope));
    return bytes;
  }

  fileOf(version: string, architecture: "x64" | "arm64" = "x64"): string {
    return join(this.path, version, releaseFileName(version, architecture));
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

let shared: ReleaseFolders | null = null;

/** The folder of every test installation that names no other: one release. It ends with the process. */
export function sharedReleases(): string {
  if (shared === null) {
    const folder = new ReleaseFolders();
    folder.add(rolledOut);
    process.once("exit", () => folder.remove());
    shared = folder;
  }
  return shared.path;
}
