import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * The files of a bundle that a process has read when it runs the command, by name: `main.js`, the command's own file, and
 * what they import at once. What is imported later by `import()` is not among them.
 *
 * @param command the name of the module that `main.js` imports for it
 * @throws Error when the bundle has no such command
 */
export function loadedParts(directory: string, command: string): string[] {
  const own = partsOf(directory, "main.js").later.find((name) => name.startsWith(`${command}-`));
  if (own === undefined) throw new Error(`${join(directory, "main.js")} imports no ${command}`);
  const loaded = new Set<string>();
  const waiting = ["main.js", own];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (loaded.has(name)) continue;
    loaded.add(name);
    waiting.push(...partsOf(directory, name).atOnce);
  }
  return [...loaded].sort();
}

function partsOf(directory: string, name: string) {
  const text = readFileSync(join(directory, name), "latin1");
  const there = new Set(readdirSync(directory));
  const named = (pattern: RegExp) =>
    [...text.matchAll(pattern)].map(([, part = ""]) => part).filter((part) => there.has(part));
  return {
    atOnce: named(/(?:from|import)\s*"\.\/([^"\n]+\.js)"/g),
    later: named(/import\("\.\/([^"\n]+\.js)"\)/g),
  };
}
