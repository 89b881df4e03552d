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

test("an unused export is caught, in a package as well as in an app", async () => {
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

test.each([
  ["a product", "apps/api/src/products/usage", "../servers/store.ts", "ServerDetails"],
  ["the worker", "apps/api/src/worker", "../products/servers/store.ts", "ServerDetails"],
])(
  "%s that imports a product past its index is caught, with the line and what to do",
  async (_, directory, specifier, name) => {
    plant(
      `${directory}/planted.ts`,
      `\nimport type { ${name} } from "${specifier}";\nexport type P = ${name};\n`,
    );
    await expectCaught(
      "products",
      new RegExp(
        `^${directory}/planted\\.ts:2: imports .*servers/store\\.ts.* export what you need from .*servers/index\\.ts`,
        "m",
      ),
    );
  },
);

test("a cycle of two products is caught, even if it is only of types", async () => {
  plant(
    "apps/api/src/products/networks/planted.ts",
    'import type { ServerHooks } from "../servers/index.ts";\nexport type Planted = ServerHooks;\n',
  );
  await expectCaught(
    "products",
    /^apps\/api\/src\/products\/networks\/planted\.ts:1: networks imports servers/m,
  );
});

test("a cycle through other products is caught, with each import in it", async () => {
  plant("apps/api/src/products/regions/planted.ts", 'export { listAudit } from "../audit/index.ts";\n');
  plant("apps/api/src/products/audit/planted.ts", 'const planted = import("../reachability/index.ts");\n');
  const { output } = await runCheck("products");
  expect(output).toMatch(/regions\/planted\.ts:1: regions imports audit/);
  expect(output).toMatch(/audit\/planted\.ts:1: audit imports reachability/);
  expect(output).toMatch(/: networks imports regions/);
  expect(output).not.toMatch(/: tokens imports/);
});

test("a test may import any product by its index", async () => {
  plant(
    "apps/api/src/products/networks/planted.test.ts",
    'import { viewServer } from "../servers/index.ts";\nviewServer;\n',
  );
  expect((await runCheck("products")).output).not.toMatch(/planted/);
});

test.each([
  ["a file of the panel that draws without saying what", "draft-button.tsx", "", /ends with what it holds/],
  ["a page of the panel without a verb", "rules-page.tsx", "", /<verb>-page/],
  ["a create form by another name", "new-form.tsx", "", /<verb>-form/],
  ["a name that repeats its product", "firewall-calls.tsx", "", /leave it out/],
  [
    "a whole page in another file",
    "rules-panel.tsx",
    "export const planted = <Shell></Shell>;",
    /whole page/,
  ],
  ["an address answered outside of the routes", "planted.ts", 'routes.get("/planted");', /<what>-routes/],
  [
    "properties of a page outside of props.ts",
    "rules-panel.tsx",
    "export type PlantedProps = 1;",
    /props\.ts/,
  ],
])("%s is caught", async (_, file, content, rule) => {
  plant(`apps/console/src/products/firewalls/${file}`, `${content}\n`);
  await expectCaught("console files", new RegExp(`products/firewalls/${file}: .*${rule.source}`));
});

test("files of the panel that import each other are caught, even if it is only for types", async () => {
  plant(
    "apps/console/src/layout/planted-a.ts",
    '\nimport type { B } from "./planted-b.ts";\nexport type A = B;\n',
  );
  plant(
    "apps/console/src/layout/planted-b.ts",
    'import type { A } from "./planted-a.ts";\nexport type B = A;\n',
  );
  await expectCaught("console files", /layout\/planted-a\.ts:2: imports .*planted-b\.ts/);
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

const main = (...words: string[]) =>
  runCommand(process.execPath, [join(copy, "tools/check/src/main.ts"), ...words], copy);

test("one failing check fails the command, which prints its output", async () => {
  plant("packages/rules/src/planted.ts", 'import "@kule/database/migrate";\n');
  const result = await main("layers", "products");
  expect(result.succeeded).toBe(false);
  expect(result.output).toMatch(/FAILED .*layers\n[\s\S]* {4}packages\/rules\/src\/planted\.ts/);
  expect(result.output).toMatch(/^ok .*products$/m);
  expect(result.output).toMatch(/1 of 2 checks failed: layers/);
});

test("a word that is in no check's name is refused, with the names", async () => {
  const result = await main("layerz");
  expect(result.succeeded).toBe(false);
  expect(result.output).toMatch(/No check has layerz in its name\. There are: .*layers.*knip/);
});

test("an action of CI that is named by a tag is refused", async () => {
  edit(".github/workflows/ci.yml", (text) => text.replace(/(uses: actions\/checkout)@[0-9a-f]{40}/, "$1@v4"));
  await expectCaught("pinned actions", /ci\.yml:\d+: actions\/checkout@v4 .*name a commit/);
});
