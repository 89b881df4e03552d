// The agent as one file: Node with the agent's bundle, and the files that it installs, inside.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { type ReleaseKeys, readReleaseKeys } from "@kule/agent-release/release-keys";
import { isVersion } from "@kule/agent-release/version";
import { bundleApps } from "../bundle-apps.ts";
import { type Architecture, nodeBinary } from "./node-binary.ts";

const root = resolve(import.meta.dirname, "../../../..");

/** What the binary has beside its code, by the name that it asks for. */
const assets = {
  "kule-agent.service": "infra/agent/kule-agent.service",
  "kule-agent-update.service": "infra/agent/kule-agent-update.service",
  "kule-agent-update.path": "infra/agent/kule-agent-update.path",
  "kule-agent-update.timer": "infra/agent/kule-agent-update.timer",
  "region.example.yaml": "docs/region.example.yaml",
} as const;

export type BinaryOptions = {
  readonly architecture: Architecture;
  readonly folder: string;
  /** A Node of this architecture and of exactly the version that runs this; npm's when left out. */
  readonly node?: string | undefined;
  /** By default the one of package.json. */
  readonly version?: string | undefined;
  /** A file with the publisher's public keys; without one the agent never updates itself. */
  readonly releaseKeys?: string | undefined;
};

export type Binary = { readonly path: string; readonly sha256: string };

/**
 * Builds `kule-agent-<version>-linux-<architecture>` in the folder, and its sum beside it in the form of sha256sum. The
 * same tree gives the same bytes, wherever it lies: what goes in is named by relative paths, and V8's code cache, which
 * differs from one build to the next, is left out.
 */
export async function buildAgentBinary({
  architecture,
  folder,
  node,
  ...facts
}: BinaryOptions): Promise<Binary> {
  const version = await versionOf(facts.version);
  const keys = facts.releaseKeys === undefined ? null : await keysOf(facts.releaseKeys);
  const executable = resolve(node ?? nodeBinary(architecture));
  const [bundle = ""] = await bundleApps(["apps/agent"]);
  await mkdir(folder, { recursive: true });
  const path = resolve(folder, `kule-agent-${version}-linux-${architecture}`);
  // Beside the result, so that it takes its place by a rename.
  const work = await mkdtemp(join(folder, ".build-"));
  try {
    await copyFile(join(root, bundle), join(work, "main.js"));
    for (const [name, file] of Object.entries(assets)) await copyFile(join(root, file), join(work, name));
    // Beside the code, so that builds of several versions have one bundle.
    await writeFile(join(work, "version"), version);
    await writeFile(join(work, "release-keys.json"), JSON.stringify(keys));
    const names = [...Object.keys(assets), "version", "release-keys.json"];
    const configuration = {
      main: "main.js",
      mainFormat: "module",
      executable,
      output: "kule-agent",
      disableExperimentalSEAWarning: true,
      useSnapshot: false,
      useCodeCache: false,
      // The environment cannot make it load other code.
      execArgvExtension: "none",
      assets: Object.fromEntries(names.map((name) => [name, name])),
    };
    await writeFile(join(work, "sea.json"), JSON.stringify(configuration));
    await promisify(execFile)(process.execPath, ["--build-sea", "sea.json"], {
      cwd: work,
      env: { PATH: process.env.PATH },
    });
    await chmod(join(work, "kule-agent"), 0o755);
    await rename(join(work, "kule-agent"), path);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  const sha256 = await digestOf(path);
  await writeFile(`${path}.sha256`, `${sha256}  ${basename(path)}\n`);
  return { path, sha256 };
}

async function versionOf(given: string | undefined): Promise<string> {
  const manifest = await readFile(join(root, "apps/agent/package.json"), "utf8");
  const version = given ?? (JSON.parse(manifest) as { version: string }).version;
  if (!isVersion(version)) throw new Error(`${version} is no version such as 1.4.0 or 1.4.0-rc.2`);
  return version;
}

async function keysOf(path: string): Promise<ReleaseKeys> {
  const keys = readReleaseKeys(await readFile(path, "utf8"));
  if (keys === null)
    throw new Error(
      `${path} does not name 1 to 4 public keys and their generation: npm run agent-release -- keygen`,
    );
  return keys;
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
