import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { removeOldParts } from "./old-parts.ts";

test("parts of earlier builds stay for a day, and everything else for ever", async () => {
  const directory = mkdtempSync(join(tmpdir(), "kule-parts-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const before = new Date(Date.now() - 25 * 3_600_000);
  for (const name of [
    "main.js",
    "validate-response.js",
    "serve-AAAA1111.js",
    "serve-BBBB2222.js",
    "serve-BBBB2222.js.map",
  ]) {
    writeFileSync(join(directory, name), "");
    utimesSync(join(directory, name), before, before);
  }
  writeFileSync(join(directory, "serve-CCCC3333.js"), "");
  await removeOldParts(directory, new Set(["main.js", "serve-AAAA1111.js"]));
  expect(readdirSync(directory).sort()).toEqual([
    "main.js",
    "serve-AAAA1111.js",
    "serve-CCCC3333.js",
    "validate-response.js",
  ]);
});
