import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { missingPaths } from "./documented-paths.ts";

describe("the paths that documents name", () => {
  const root = mkdtempSync(path.join(tmpdir(), "kule-docs-"));
  execFileSync("git", ["init", "-q"], { cwd: root });
  mkdirSync(path.join(root, "packages/rules/src"), { recursive: true });
  writeFileSync(path.join(root, "packages/rules/src/naming.ts"), "");
  writeFileSync(path.join(root, ".gitignore"), "screenshots/\n");

  const findings = (text: string) => {
    writeFileSync(path.join(root, "README.md"), text);
    return missingPaths(root);
  };

  it("are found with and without their ending, and as patterns", () => {
    expect(findings("`packages/rules/src/naming.ts` `packages/rules/src/naming` `packages/*/src`")).toEqual(
      [],
    );
  });

  it("are reported when nothing is there", () => {
    expect(findings("`packages/rules/src/gone.ts` and `packages/*/gone.ts`")).toEqual([
      "README.md: packages/rules/src/gone.ts does not exist",
      "README.md: packages/*/gone.ts does not exist",
    ]);
  });

  it("may be what git ignores", () => {
    expect(findings("`packages/rules/screenshots/`")).toEqual([]);
  });
});
