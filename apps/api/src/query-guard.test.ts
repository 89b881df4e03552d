import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { systemQueries } from "./testing/proofs/system-queries.ts";

describe("the exemptions from the tenant guard", () => {
  it("are exactly those that are listed", () => {
    expect(exemptionsIn(import.meta.dirname)).toEqual([...systemQueries].sort());
  });

  it("go through systemQuery alone: nothing else takes plugins off", () => {
    const others = sources(import.meta.dirname).filter(
      ([file, text]) => text.includes("withoutPlugins") && file !== "platform/database.ts",
    );
    expect(others.map(([file]) => file)).toEqual([]);
  });
});

function exemptionsIn(root: string): string[] {
  const found = new Set<string>();
  for (const [file, text] of sources(root)) {
    if (file === "platform/database.ts" || file === "platform/tenant-guard.ts") continue;
    const calls = [...text.matchAll(/systemQuery\(\s*[\w.#]+,\s*("[^"]+"|\w+),?\s*\)/g)];
    // A call that this cannot parse would be an unlisted exemption.
    expect(calls.length, file).toBe(text.match(/systemQuery\(/g)?.length ?? 0);
    for (const [, reason = ""] of calls) {
      const literal = reason.startsWith('"') ? reason : text.match(`const ${reason} = ("[^"]+")`)?.[1];
      found.add(`${file}: ${literal?.slice(1, -1)}`);
    }
  }
  return [...found].sort();
}

/** What ships of the API, by file. */
function sources(root: string): [file: string, text: string][] {
  return globSync("**/*.ts", { cwd: root })
    .filter((file) => !file.endsWith(".test.ts") && !file.startsWith("testing/"))
    .map((file) => [file, readFileSync(path.join(root, file), "utf8")]);
}
