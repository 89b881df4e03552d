import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";

const environment = {
  KULE_API_URL: "http://127.0.0.1:1/api/v1",
  KULE_CONSOLE_PORT: "0",
  KULE_CONSOLE_SECRET: "a secret of the tests that is long enough to be one",
};
let dist: string;
let running: ChildProcess | undefined;

beforeAll(() => {
  dist = mkdtempSync(join(tmpdir(), "kule-console-dist-"));
  execFileSync(process.execPath, [join(import.meta.dirname, "../scripts/build.ts"), dist]);
});
afterEach(() => {
  running?.kill("SIGKILL");
  running = undefined;
});
afterAll(() => rmSync(dist, { recursive: true, force: true }));

function start(env: Record<string, string>): ChildProcess {
  running = spawn(process.execPath, [join(dist, "main.js")], { env, cwd: tmpdir(), stdio: "pipe" });
  return running;
}

async function listening(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("no output to read");
  for await (const line of createInterface({ input: child.stdout })) {
    const { event, port } = JSON.parse(line) as { event: string; port: number };
    if (event === "listening") return `http://127.0.0.1:${port}`;
  }
  throw new Error(`the console ended without listening: ${child.stderr?.read()}`);
}

test("the built panel runs without other files, serves its assets and stops on a signal", async () => {
  const child = start(environment);
  const url = await listening(child);
  expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: "ok" });
  const page = await (await fetch(`${url}/sign-in`)).text();
  for (const [, path] of page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)) {
    const asset = await fetch(url + path);
    expect(asset.status).toBe(200);
    expect(asset.headers.get("cache-control")).toContain("immutable");
    expect((await asset.arrayBuffer()).byteLength).toBeGreaterThan(1000);
  }
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
});

test("with a delay, it says that it stops, and answers until the proxy has noticed", async () => {
  const child = start({ ...environment, KULE_STOP_DELAY_SECONDS: "2" });
  const url = await listening(child);
  const asked = async (path: string) => {
    const response = await fetch(url + path);
    await response.arrayBuffer();
    return [response.status, response.headers.get("connection")];
  };
  expect(await asked("/healthz")).toEqual([200, "keep-alive"]);
  const exited = once(child, "exit");
  const toldAt = performance.now();
  child.kill("SIGTERM");
  await expect.poll(() => asked("/healthz")).toEqual([503, "close"]);
  expect(await asked("/sign-in")).toEqual([200, "close"]);
  expect(await exited).toEqual([0, null]);
  expect(performance.now() - toldAt).toBeGreaterThan(1_900);
});

test("pages of the release before find their scripts and styles, and this release's pages their own", async () => {
  const before = join(dist, "assets/before");
  mkdirSync(before);
  try {
    writeFileSync(join(before, "console-OLD.js"), "// of the release before");
    writeFileSync(join(before, "style-OLD.css"), "/* of the release before */");
    const url = await listening(start(environment));
    const old = await fetch(`${url}/assets/console-OLD.js`);
    expect([old.status, await old.text()]).toEqual([200, "// of the release before"]);
    expect(old.headers.get("cache-control")).toContain("immutable");
    expect(await (await fetch(`${url}/sign-in`)).text()).not.toContain("OLD");
  } finally {
    rmSync(before, { recursive: true });
  }
});

test("a connection that never completes its headers is closed", { timeout: 30_000 }, async () => {
  const url = new URL(await listening(start(environment)));
  const socket = connect(Number(url.port), url.hostname);
  socket.write("GET /sign-in HTTP/1.1\r\nHost: x\r\n");
  const startedAt = performance.now();
  socket.on("error", () => {});
  socket.resume();
  await once(socket, "close");
  expect(performance.now() - startedAt).toBeLessThan(20_000);
});

test("an invalid environment is refused with every name and no value", async () => {
  const child = start({ KULE_CONSOLE_SECRET: "hunter2" });
  let said = "";
  child.stderr?.on("data", (chunk) => {
    said += chunk;
  });
  expect(await once(child, "close")).toEqual([1, null]);
  expect(said).toContain("KULE_API_URL");
  expect(said).toContain("KULE_CONSOLE_SECRET");
  expect(said).not.toContain("hunter2");
});

test("a first visit is small: script and style stay under 45 kB compressed, with fonts under 80", () => {
  // The code of a server's screen is loaded only by the screen's own page.
  const first = readdirSync(join(dist, "assets")).filter((name) => !name.startsWith("screen-"));
  expect(first.length).toBeGreaterThan(3);
  const sizes = first.map((name) => {
    const content = readFileSync(join(dist, "assets", name));
    return { name, bytes: name.endsWith(".woff2") ? content.length : gzipSync(content).length };
  });
  const total = (files: typeof sizes) => files.reduce((sum, { bytes }) => sum + bytes, 0);
  expect(total(sizes.filter(({ name }) => !name.endsWith(".woff2")))).toBeLessThan(45_000);
  expect(total(sizes)).toBeLessThan(80_000);
});
