import { readFileSync, renameSync, writeFileSync } from "node:fs";

/** Replaces a file at once, readable by its owner only; a kill leaves the old content or the new. */
export function writePrivateFile(path: string, content: string): void {
  const draft = `${path}.new`;
  writeFileSync(draft, content, { mode: 0o600, flush: true });
  renameSync(draft, path);
}

/** The JSON of a file, or `undefined` when there is none. */
export function readJsonFile<T>(path: string): T | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  return JSON.parse(text) as T;
}
