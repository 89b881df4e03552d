import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { applyPatch, patchesVariable, patchSource, unappliedPatches } from "./source-patch.ts";

const patch = { file: "a/b.ts", find: "1", replace: "2" };
afterEach(() => {
  delete process.env[patchesVariable];
});

test("a patch replaces the one place it names", () => {
  expect(applyPatch("x = 1;", patch)).toBe("x = 2;");
});

test("a patch whose text is missing, or occurs twice, is an error that names the file", () => {
  expect(() => applyPatch("x = 3;", patch)).toThrow(/a\/b\.ts.* 0 times/);
  expect(() => applyPatch("x = 11;", patch)).toThrow(/2 times/);
});

test("a patch that matched nothing is known afterwards", () => {
  const directory = mkdtempSync(join(tmpdir(), "kule-patch-"));
  const file = join(directory, "patches.json");
  const unused = { ...patch, file: "a/c.ts" };
  writeFileSync(file, JSON.stringify([patch, unused]));
  process.env[patchesVariable] = file;
  expect(unappliedPatches()).toEqual([patch, unused]);
  expect(patchSource("/root", "/root/a/b.ts", "x = 1;", [patch, unused])).toBe("x = 2;");
  expect(patchSource("/root", "/root/a/d.ts", "x = 1;", [patch, unused])).toBe("x = 1;");
  expect(unappliedPatches()).toEqual([unused]);
  rmSync(directory, { recursive: true });
});
