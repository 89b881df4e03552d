import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { listChecks } from "./checks.ts";
import { runCommand } from "./run-command.ts";
import { copyTree } from "./working-copy.ts";

const root = resolve(import.meta.dirname, "../../..");
let copy: string;
let undo: (() => void)[] = [];

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), "kule-check-"));
  copyTree(root, copy);
});

afterEach(() => {
  for (const step of undo.reverse()) step();
  undo = [];
});

afterAll(() => rmSync(copy, { recursive: true, force: true }));

function plant(path: string, content: string): void {
  writeFileSync(join(copy, path), content, { flag: "wx" });
  undo.push(() => rmSync(join(copy, path)));
}

function edit(path: string, change: (content: string) => string): void {
  const before = readFileSync(join(copy, path), "utf8");
  const after = change(before);
  expect(after).not.toBe(before);
  writeFileSync(join(copy, path), after);
  undo.push(() => writeFileSync(join(copy, path), before));
}

function editManifest(
  path: string,
  change: (manifest: Record<string, Record<string, string>>) => void,
): void {
  edit(path, (content) => {
    const manifest = JSON.parse(content);
    change(manifest);
    return `${JSON.stringify(manifest, null, 2)}\n`;
  });
}

async function runCheck(name: string) {
  const check = listChecks(copy).find((one) => one.name === name);
  if (check === undefined) throw new Error(`no check is called ${name}`);
  return check.run(copy);
}

/** The tree at hand may have faults of its own while it is worked on, so the output must name the planted one. */
async function expectCaught(name: string, trace: RegExp): Promise<void> {
  const result = await runCheck(name);
  expect(result.output).toMatch(trace);
  expect(result.succeeded).toBe(false);
}

test("a type error is caught", { timeout: 120_000 }, async () => {
  plant("packages/rules/src/planted.ts", 'export const planted: number = "text";\n');
  await expectCaught("types (tsc)", /packages\/rules\/src\/planted\.ts.*TS2322/);
});

test("a default export is caught", async () => {
  plant("packages/rules/src/planted.ts", "export default 1;\n");
  await expectCaught("lint and format (biome)", /rules\/src\/planted\.ts.*noDefaultExport/);
});

test("a rule that reads the clock is caught", async () => {
  plant("packages/rules/src/planted.ts", "export const planted = () => Date.now();\n");
  await expectCaught("lint and format (biome)", /rules\/src\/planted\.ts.*noRestrictedGlobals/);
});

test("time or chance from anywhere but the runtime module is caught", async () => {
  const planted = [
    ["packages/programs/src", "export const planted = () => Date.now();", "plugin"],
    ["packages/proxmox/src", "export const planted = () => setTimeout(() => {}, 1);", "noRestrictedGlobals"],
    ["packages/lab/src", 'export { randomUUID } from "node:crypto";', "noRestrictedImports"],
    ["packages/battery/src/simulation", "export const planted = Math.random();", "plugin"],
    ["apps/agent/src", "export const planted = () => AbortSignal.timeout(1);", "plugin"],
  ] as const;
  for (const [directory, text] of planted) plant(`${directory}/planted.ts`, `${text}\n`);
  const { output } = await runCheck("lint and format (biome)");
  for (const [directory, , rule] of planted)
    expect(output).toMatch(new RegExp(`${directory}/planted\\.ts.*${rule}`));
});

test("an export that nobody uses is caught, in a package as well as in an app", async () => {
  plant("packages/rules/src/planted.ts", "export const plantedRule = 1;\n");
  plant("apps/api/src/planted.ts", "export const plantedInApi = 1;\n");
  await expectCaught("dead code (knip)", /plantedRule/);
  expect((await runCheck("dead code (knip)")).output).toMatch(/apps\/api\/src\/planted\.ts/);
});

test("a file that reaches into another package past its exports is caught", async () => {
  plant("packages/programs/src/planted.ts", 'export * from "../../rules/src/planted.ts";\n');
  plant("packages/rules/src/planted.ts", "export const planted = 1;\n");
  await expectCaught("package boundaries (turbo)", /programs\/src\/planted\.ts/);
});

test("a package that rules depends on is caught", async () => {
  editManifest("packages/rules/package.json", (manifest) => {
    manifest.dependencies = { ...manifest.dependencies, "@kule/region-config": "workspace:*" };
  });
  await expectCaught("package boundaries (turbo)", /@kule\/region-config/);
});

test.each([
  ["a program that reads the database", "packages/programs", "@kule/database/migrate"],
  ["an agent that knows the rules", "apps/agent", "@kule/rules/planted"],
  ["a panel that calls the hypervisor", "apps/console", "@kule/proxmox/client"],
  ["a shipped file that uses a test package", "apps/api", "@kule/testing/database"],
])("%s is caught", async (_, directory, specifier) => {
  plant(`${directory}/src/planted.ts`, `import { planted } from "${specifier}";\nexport { planted };\n`);
  await expectCaught("layers", new RegExp(`${directory}/src/planted\\.ts`));
});

test("a dependency listed against the layers is caught before anything imports it", async () => {
  editManifest("apps/console/package.json", (manifest) => {
    manifest.dependencies = { ...manifest.dependencies, "@kule/database": "workspace:*" };
  });
  await expectCaught(
    "layers",
    /apps\/console\/package\.json: @kule\/console must not depend on @kule\/database/,
  );
});

test("an edit of the contract without generating again is caught", async () => {
  edit("docs/api/openapi.yaml", (text) => text.replace(/operationId: (\w+)/, "operationId: $1Planted"));
  await expectCaught("generated code is current", /packages\/contract\/src\/generated\//);
});

test("an edit of a generated file is caught", async () => {
  edit("packages/contract/src/generated/validate-bodies.js", (text) => `${text}\n`);
  await expectCaught("generated code is current", /validate-bodies\.js/);
});

test("a reference to nothing in the contract is caught", async () => {
  edit("docs/api/openapi.yaml", (text) =>
    text.replace(/(\$ref: .?#\/components\/schemas\/)\w+/, "$1Planted"),
  );
  await expectCaught("contract (redocly)", /Planted/);
});

test("a package's own check script runs and counts", async () => {
  editManifest("packages/rules/package.json", (manifest) => {
    manifest.scripts = { ...manifest.scripts, check: "echo planted failure; exit 3" };
  });
  await expectCaught("rules", /planted failure/);
});

test("one failing check fails the command, which prints its output", { timeout: 60_000 }, async () => {
  plant("packages/rules/src/planted.ts", 'export const planted: number = "text";\n');
  const result = await runCommand(process.execPath, [join(copy, "tools/check/src/main.ts")], copy);
  expect(result.succeeded).toBe(false);
  expect(result.output).toMatch(/FAILED .*types \(tsc\)\n[\s\S]* {4}packages\/rules\/src\/planted\.ts/);
  expect(result.output).toMatch(/checks failed: .*types \(tsc\)/);
});
