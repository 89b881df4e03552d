import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const apiRoot = resolve(import.meta.dirname, "../../../../apps/api/src");

/** The API's shipped sources, by file. */
export function apiSources(): { readonly file: string; readonly text: string }[] {
  return globSync("**/*.ts", { cwd: apiRoot })
    .filter((file) => !file.endsWith(".test.ts") && !file.startsWith("testing/"))
    .map((file) => ({ file, text: readFileSync(join(apiRoot, file), "utf8") }));
}
