import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";

const PATH = /`((?:apps|packages|tools|docs|infra|\.ci|\.github)\/[A-Za-z0-9_./*{},-]*)`/g;

/** Paths of the repository that a document names and that do not exist: documents rot, and this is how it shows. */
export function missingPaths(root: string): string[] {
  const documents = globSync(["*.md", "docs/**/*.md", "packages/*/README.md", "infra/**/*.md"], {
    cwd: root,
  });
  return documents.sort().flatMap((document) => {
    const text = readFileSync(path.join(root, document), "utf8");
    return [...text.matchAll(PATH)]
      .map((match) => match[1] ?? "")
      .filter((named) => !exists(root, named))
      .map((named) => `${document}: ${named} does not exist`);
  });
}

function exists(root: string, named: string): boolean {
  if (/[*{]/.test(named)) return globSync(named, { cwd: root }).length > 0;
  if (existsSync(path.join(root, named)) || existsSync(path.join(root, `${named}.ts`))) return true;
  // Files that git ignores may be absent: pictures, builds, local data.
  return spawnSync("git", ["check-ignore", "-q", named], { cwd: root }).status === 0;
}
