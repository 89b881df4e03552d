import { createHash } from "node:crypto";
import { cpSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";

const leftOut = new Set(["node_modules", "dist", ".git", ".turbo", ".kule", "coverage", "screenshots"]);

/**
 * Copies the tree of `root` (without what is built or kept aside) to the empty directory `target` and links the
 * installed dependencies, so that generators and checks can run there without touching the tree.
 */
export function copyTree(root: string, target: string): void {
  mkdirSync(target, { recursive: true });
  for (const entry of readdirSync(root)) {
    if (leftOut.has(entry)) continue;
    cpSync(join(root, entry), join(target, entry), {
      recursive: true,
      filter: (source) => !leftOut.has(source.slice(source.lastIndexOf("/") + 1)),
    });
  }
  // The links in a package's node_modules are relative: to our packages they lead into the copy, to all others
  // through the one link at the root.
  for (const modules of globSync("{apps,packages,tools}/*/node_modules", { cwd: root })) {
    if (!existsSync(join(target, dirname(modules)))) continue;
    cpSync(join(root, modules), join(target, modules), { recursive: true, verbatimSymlinks: true });
  }
  symlinkSync(join(root, "node_modules"), join(target, "node_modules"));
}

/** Content hash of every file under `root` that `copyTree` copies, by path relative to `root`. */
export function hashTree(root: string): Map<string, string> {
  const hashes = new Map<string, string>();
  const visit = (directory: string) => {
    for (const entry of readdirSync(join(root, directory), { withFileTypes: true })) {
      if (leftOut.has(entry.name)) continue;
      const path = join(directory, entry.name);
      if (entry.isDirectory()) visit(path);
      else if (entry.isFile()) {
        hashes.set(
          path,
          createHash("sha256")
            .update(readFileSync(join(root, path)))
            .digest("hex"),
        );
      }
    }
  };
  visit("");
  return hashes;
}

/** Paths whose content differs, or that are in one of the two only, in alphabetical order. */
export function differingFiles(before: Map<string, string>, after: Map<string, string>): string[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((path) => before.get(path) !== after.get(path))
    .sort();
}
