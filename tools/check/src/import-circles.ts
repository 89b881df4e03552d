import { globSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";

type Import = { readonly file: string; readonly line: number; readonly target: string };

/** Static imports at the beginning of a line, of values and of types. */
const imported = /^(?:import|export)\s[^;"']*?from\s+"(\.[^"]+)"|^import\s+"(\.[^"]+)"/gm;

/**
 * Every import below `directory` that is part of a circle of files, one line each. Imports of types count: two files
 * that need each other's types need a third one that has them.
 */
export function findImportCircles(root: string, directory: string): string[] {
  const imports = globSync(`${directory}/**/*.{ts,tsx}`, { cwd: root })
    .sort()
    .flatMap((file) => importsOf(root, file));
  const importsByFile = Map.groupBy(imports, ({ file }) => file);
  return imports
    .filter(({ file, target }) => isReachable(importsByFile, target, file))
    .map(
      ({ file, line, target }) =>
        `${file}:${line}: imports ${target}, which imports it back, itself or through others. Move what both need ` +
        "(types of a product's pages: props.ts) to a file that imports neither",
    );
}

function importsOf(root: string, file: string): Import[] {
  const source = readFileSync(join(root, file), "utf8");
  return [...source.matchAll(imported)].map((match) => ({
    file,
    line: source.slice(0, match.index + match[0].length).split("\n").length,
    target: posix.join(dirname(file), match[1] ?? match[2] ?? ""),
  }));
}

function isReachable(
  importsByFile: ReadonlyMap<string, readonly Import[]>,
  from: string,
  to: string,
): boolean {
  const seen = new Set<string>([from]);
  const waiting = [from];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (file === to) return true;
    for (const { target } of importsByFile.get(file) ?? []) {
      if (seen.has(target)) continue;
      seen.add(target);
      waiting.push(target);
    }
  }
  return false;
}
