import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Hash of everything that the build of an app reads: its own files, the sources of our packages it depends on
 * (through any number of steps) and the lockfile.
 */
export function hashBuildInputs(root: string, app: string): string {
  const hash = createHash("sha256").update(readFileSync(join(root, "pnpm-lock.yaml")));
  const patterns = [
    `${app}/{package.json,{src,scripts,browser}/**}`,
    ...[...dependenciesOf(root, app)].map((directory) => `${directory}/src/**`),
  ];
  const files = patterns.flatMap((pattern) => globSync(pattern, { cwd: root, withFileTypes: true }));
  const paths = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
  for (const path of paths.sort()) hash.update(path).update("\0").update(readFileSync(path)).update("\0");
  return hash.digest("hex");
}

function dependenciesOf(root: string, directory: string, known = new Set<string>()): Set<string> {
  const manifest = join(root, directory, "package.json");
  if (!existsSync(manifest)) return known;
  const { dependencies = {} } = JSON.parse(readFileSync(manifest, "utf8")) as {
    dependencies?: Record<string, string>;
  };
  for (const name of Object.keys(dependencies)) {
    if (!name.startsWith("@kule/")) continue;
    const dependency = `packages/${name.slice("@kule/".length)}`;
    if (known.has(dependency)) continue;
    known.add(dependency);
    dependenciesOf(root, dependency, known);
  }
  return known;
}
