import { execFile, execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { patchesVariable } from "@kule/build/source-patch";

const root = resolve(import.meta.dirname, "../../../..");
const baselineFolder = "packages/database/src/migrations/0001-baseline";
/** What the bundles of the control plane and of the agent are made from. */
const parts = [
  "apps",
  "packages",
  "tools/build",
  "docs/api",
  "package.json",
  "pnpm-lock.yaml",
  "pnpm-workspace.yaml",
  "tsconfig.json",
];
const buildMinutes = 10;

export type App = "api" | "agent" | "console";

/** A tree that was built in a folder of its own. */
export type OtherBuild = {
  /** In words: "commit 1a2b3c4d", "this tree". */
  readonly name: string;
  /** Paths of `main.js`. */
  readonly mains: Readonly<Record<App, string>>;
  remove(): void;
};

/** The commit that counts as the release before, or why there is none here. */
export type CommitBefore =
  | { readonly commit: string; readonly note: string | null }
  | { readonly reason: string };

/**
 * The release before is the parent of HEAD, or what KULE_UPGRADE_FROM names. Until the first release its baseline may be another
 * one, whose database is not carried over: then the newest older commit with this tree's baseline is taken.
 */
export function commitBefore(): CommitBefore {
  const from = process.env.KULE_UPGRADE_FROM ?? "HEAD~1";
  const commits = git("rev-list", "--max-count=200", from);
  if (commits === null)
    return {
      reason: `there is no ${from} in this clone: fetch its history, or name a commit in KULE_UPGRADE_FROM`,
    };
  const [wanted = "", ...older] = commits.split("\n");
  const hasBaseline = (commit: string) => git("diff", "--quiet", commit, "--", baselineFolder) !== null;
  if (hasBaseline(wanted)) return { commit: wanted, note: null };
  const found = older.find(hasBaseline);
  const change = `the baseline of ${wanted.slice(0, 8)} is another one, and before the first release its database is not carried over`;
  if (found === undefined) return { reason: `${change}; no older commit has this tree's` };
  return { commit: found, note: `${change}: the newest one with this tree's is ${found.slice(0, 8)}` };
}

/** Null when git fails, or is not there. */
function git(...args: readonly string[]): string | null {
  try {
    return execFileSync("git", args, {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  } catch {
    return null;
  }
}

/**
 * Builds a commit, or this tree as it is, in a temporary folder; `remove` it in any case.
 *
 * @param commit null: this tree, with the lines that a mutant leaves out
 */
export async function buildElsewhere(
  commit: string | null,
  apps: readonly App[] = ["api", "agent", "console"],
): Promise<OtherBuild> {
  const folder = mkdtempSync(join(tmpdir(), "kule-build-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    if (commit === null) copyTree(folder);
    else await unpackCommit(commit, folder);
    linkDependencies(folder);
    // Its own bundler, so that it is built as it was.
    const script = `import { bundleApps } from ${JSON.stringify(join(folder, "tools/build/src/bundle-apps.ts"))};
      console.log(JSON.stringify(await bundleApps(${JSON.stringify(apps.map((app) => `apps/${app}`))})));`;
    const env = { ...process.env };
    if (commit !== null) delete env[patchesVariable];
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], {
      cwd: folder,
      env,
      timeout: buildMinutes * 60_000,
    });
    const built = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as string[];
    const mains = Object.fromEntries(apps.map((app, index) => [app, join(folder, built[index] ?? "")]));
    return {
      name: commit === null ? "this tree, built in another folder" : `commit ${commit.slice(0, 8)}`,
      mains: mains as Record<App, string>,
      remove,
    };
  } catch (error) {
    remove();
    throw error;
  }
}

const isSource = (path: string) =>
  !/\/(node_modules|dist|\.turbo|\.test-results)(\/|$)/.test(path.slice(root.length));

function copyTree(folder: string): void {
  for (const part of parts)
    cpSync(join(root, part), join(folder, part), { recursive: true, filter: isSource });
}

async function unpackCommit(commit: string, folder: string): Promise<void> {
  const archive = join(folder, "tree.tar");
  const { stdout: there } = await promisify(execFile)("git", ["ls-tree", "--name-only", commit, ...parts], {
    cwd: root,
  });
  await promisify(execFile)("git", ["archive", "--output", archive, commit, ...there.trim().split("\n")], {
    cwd: root,
  });
  await promisify(execFile)("tar", ["-xf", archive, "-C", folder]);
  rmSync(archive);
}

/**
 * Gives it the dependencies that are installed here, when it wants the same ones.
 *
 * @throws Error when it wants others, and they cannot be installed without a network
 */
function linkDependencies(folder: string): void {
  const wanted = (tree: string) => importersOf(readFileSync(join(tree, "pnpm-lock.yaml"), "utf8"));
  if (wanted(folder) !== wanted(root)) {
    const { packageManager } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      packageManager: string;
    };
    const install = ["--yes", packageManager, "install", "--offline", "--frozen-lockfile"];
    execFileSync("npx", install, { cwd: folder, stdio: "ignore", timeout: buildMinutes * 60_000 });
    return;
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  for (const path of globSync("{apps,packages,tools}/*/node_modules", { cwd: root })) {
    const target = join(folder, path);
    if (!existsSync(join(target, "../package.json"))) continue;
    mkdirSync(target, { recursive: true });
    // Links from package to package, relative: they lead to the packages of the copy.
    cpSync(join(root, path), target, { recursive: true, verbatimSymlinks: true });
  }
}

/** What is built of the lockfile: packages that only tests and checks use may differ. */
function importersOf(lockfile: string): string {
  const sections = lockfile.split(/^importers:$/m)[1]?.split(/^packages:$/m)[0] ?? "";
  return sections
    .split(/^ {2}(?=\S)/m)
    .filter((section) => /^(apps|packages|tools\/build)/.test(section))
    .map((section) => section.split(/^ {4}devDependencies:$/m)[0])
    .join("");
}
