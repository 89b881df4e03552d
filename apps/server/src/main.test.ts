import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { bundleApps } from "@kule/build/bundle-apps";
import { findFreePort } from "@kule/postgres/free-port";
import { startProcess, type TestProcess, untilReady } from "@kule/testing/child-process";
import { type FreshDatabase, freshDatabase } from "@kule/testing/database";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

let main = "";
let folder = "";
let database: FreshDatabase;
const started: TestProcess[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "kule-server-"));
  database = await freshDatabase();
  const [, , bundle = ""] = await bundleApps(["apps/api", "apps/console", "apps/server"]);
  main = resolve(import.meta.dirname, "../../..", bundle);
});
afterEach(async () => {
  for (const process of started.splice(0)) await process.end();
});
afterAll(async () => {
  await database?.drop();
  rmSync(folder, { recursive: true });
});

function start(args: readonly string[], env: Record<string, string> = {}): TestProcess {
  const process = startProcess(args.join(" "), [main, ...args], env);
  started.push(process);
  return process;
}

async function run(args: readonly string[], env: Record<string, string> = {}) {
  const process = start(args, env);
  const { code } = await process.ended;
  return { code, output: process.output() };
}

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

describe("kule-server", () => {
  test("says its version and its commands", async () => {
    expect(await run(["--version"])).toEqual({ code: 0, output: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
    const { code, output } = await run(["--help"]);
    expect(code).toBe(0);
    for (const command of ["api", "worker", "console", "migrate", "seed", "restored", "doctor"])
      expect(output).toMatch(new RegExp(`^  ${command} `, "m"));
  });

  test.each([
    [[], "a command is needed"],
    [["serve"], "there is no command serve"],
    [["--conf", "x", "api"], "there is no option --conf"],
    [["--config"], "--config needs a file"],
    [["api", "--port", "80"], "api takes no --port"],
    [["seed", "--region"], "--region needs a value"],
  ])("called as %j explains itself, with status 2", async (args, said) => {
    const { code, output } = await run(args);
    expect([code, output.split("\n")[0]]).toEqual([2, said]);
    expect(output).toContain("kule-server [--config FILE] <command>");
  });

  test("refuses a configuration that cannot be used, with status 78 and without a stack", async () => {
    const path = write("wrong.env", "KULE_API_PROT=80\n");
    const { code, output } = await run(["--config", path, "api"]);
    expect(code).toBe(78);
    expect(output).toBe(
      `${path} cannot be used: 1 problem\n${path}:1:1: KULE_API_PROT: is not a name that is known here\n    fix: did you mean KULE_API_PORT?\n`,
    );
    expect((await run(["--config", "/nowhere/server.env", "api"])).output).toContain(
      "there is no file /nowhere/server.env",
    );
  });

  test("starts each program from one file, which stops as it does by itself", async () => {
    const [apiPort, consolePort] = [await findFreePort(), await findFreePort()];
    write("owner", database.ownerUrl);
    write("api", database.apiUrl);
    write("secret", "a-secret-of-the-tests-which-is-long-enough");
    const config = write(
      "server.env",
      `KULE_OWNER_DATABASE_URL_FILE=owner
KULE_DATABASE_URL_FILE=api
KULE_API_PORT=${apiPort}
KULE_API_URL=http://127.0.0.1:${apiPort}/api/v1
KULE_CONSOLE_PORT=${consolePort}
KULE_CONSOLE_SECRET_FILE=secret
`,
    );
    const of = (...args: string[]) => ["--config", config, ...args];
    expect(await run(of("migrate"))).toEqual({ code: 0, output: '{"applied":[]}\n' });
    const seeded = await run(of("seed", "--organisation", "acme", "--region", "ist1"));
    expect(JSON.parse(seeded.output)).toMatchObject({ region: "ist1" });

    const [api, console] = [start(of("api")), start(of("console"))];
    const answers = (url: string) => async () => ((await fetch(url)).ok ? true : undefined);
    await untilReady(api, answers(`http://127.0.0.1:${apiPort}/api/v1/readyz`), 60_000);
    await untilReady(console, answers(`http://127.0.0.1:${consolePort}/healthz`), 60_000);
    for (const process of [api, console]) {
      process.signal("SIGTERM");
      expect(await process.ended).toEqual({ code: 0, signal: null });
    }
  });

  test("starts as a user without a home, who is in no list of accounts", () => {
    const words = ["--user", "--map-user=61184", "--map-group=61184", process.execPath, main, "worker"];
    const { status, stderr } = spawnSync("unshare", words, {
      env: { PATH: process.env.PATH, KULE_DATABASE_URL: database.apiUrl },
      encoding: "utf8",
    });
    expect([status, stderr]).toEqual([1, expect.stringContaining("KULE_WORKER_DATABASE_URL is not set")]);
  });

  test("a program that cannot start says so as it does by itself", async () => {
    const { code, output } = await run(["worker"], { KULE_DATABASE_URL: database.apiUrl });
    expect([code, output]).toEqual([1, expect.stringContaining("KULE_WORKER_DATABASE_URL is not set")]);
  });
});
