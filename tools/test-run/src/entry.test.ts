import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

/** `tools/run.mjs` in a small tree of its own, with an `npx` that only notes how it was called. */
let tree: string;

beforeEach(() => {
  tree = mkdtempSync(join(tmpdir(), "kule-entry-"));
  mkdirSync(join(tree, "tools/check"), { recursive: true });
  for (const group of ["apps", "packages", "fake"]) mkdirSync(join(tree, group));
  copyFileSync(resolve(import.meta.dirname, "../../run.mjs"), join(tree, "tools/run.mjs"));
  writeFileSync(join(tree, "package.json"), '{"packageManager":"pnpm@1.2.3"}');
  writeFileSync(join(tree, "tools/check/package.json"), '{"dependencies":{}}');
  writeFileSync(join(tree, "pnpm-lock.yaml"), "one");
  writeFileSync(join(tree, "pnpm-workspace.yaml"), "");
  program(
    "fake/npx",
    `echo "$* NODE_ENV=$NODE_ENV production=$npm_config_production" >> "$PWD/installs"
     [ -e "$PWD/broken" ] && exit 9
     case "$*" in *exec*) echo "$PWD/fake/pnpm";; esac
     mkdir -p node_modules/.bin && cp fake/biome node_modules/.bin/biome && cp fake/node node_modules/.bin/node`,
  );
  program("fake/pnpm", "");
  program("fake/biome", 'echo "biome $*"; exit 0');
  program("fake/node", 'echo "node $* OPTIONS=$NODE_OPTIONS"; [ "$2" = --fail ] && exit 7; exit 0');
});

afterEach(() => rmSync(tree, { recursive: true, force: true }));

function program(path: string, script: string): void {
  writeFileSync(join(tree, path), `#!/bin/sh\n${script}\n`);
  chmodSync(join(tree, path), 0o755);
}

async function run(args: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [join(tree, "tools/run.mjs"), ...args], {
    env: { PATH: `${join(tree, "fake")}:${process.env.PATH}`, ...env },
    cwd: "/",
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk;
    });
  }
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

function installs(): string[] {
  const file = join(tree, "installs");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
}

test("it installs the pinned way once, and then only when the dependencies changed", async () => {
  expect(await run(["format"])).toEqual({
    code: 0,
    output: "Installing dependencies …\nbiome check --write .\n",
  });
  expect(installs()[0]).toMatch(/^--yes pnpm@1\.2\.3 install --frozen-lockfile /);
  const after = installs().length;
  expect(await run(["format"])).toEqual({ code: 0, output: "biome check --write .\n" });
  expect(installs()).toHaveLength(after);
  writeFileSync(join(tree, "pnpm-lock.yaml"), "two");
  await run(["format"]);
  expect(installs().length).toBeGreaterThan(after);
  const again = installs().length;
  writeFileSync(join(tree, "tools/check/package.json"), '{"dependencies":{"pg":"1"}}');
  await run(["format"]);
  expect(installs().length).toBeGreaterThan(again);
});

test("settings of the caller's shell that would drop dependencies or change our Node are left out", async () => {
  const { output } = await run(["check"], {
    NODE_ENV: "production",
    NODE_OPTIONS: "--no-warnings",
    npm_config_production: "true",
  });
  expect(installs()[0]).toMatch(/NODE_ENV= production=$/);
  expect(output).toContain("node tools/check/src/main.ts OPTIONS=\n");
});

test("further arguments reach the task, and its exit code reaches the caller", async () => {
  expect(await run(["check", "--fail", "more"])).toMatchObject({
    code: 7,
    output: expect.stringContaining("node tools/check/src/main.ts --fail more"),
  });
});

test("a failed installation is reported, does not count as done, and runs nothing", async () => {
  writeFileSync(join(tree, "broken"), "");
  const { code, output } = await run(["format"]);
  expect(code).toBe(1);
  expect(output).toMatch(/install --frozen-lockfile` failed/);
  expect(output).not.toContain("biome");
  rmSync(join(tree, "broken"));
  expect((await run(["format"])).code).toBe(0);
});

test("an unknown task is answered with those there are", async () => {
  expect(await run(["fly"])).toMatchObject({
    code: 1,
    output: expect.stringContaining("start|test|check|bench|battery"),
  });
  expect(installs()).toEqual([]);
});
