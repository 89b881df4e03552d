import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { identifyProcess, isStillRunning } from "@kule/postgres/process-identity";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ProcessFailed, SupervisedProcess } from "./supervised-process.ts";

const supervisorUrl = new URL("./supervised-process.ts", import.meta.url).href;
let scratch: string;
let started: number[];
let log: string[];
let running: SupervisedProcess[];

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "kule-supervised-"));
  started = [];
  log = [];
  running = [];
});

afterEach(async () => {
  await Promise.all(running.map((one) => one.stop(100)));
  rmSync(scratch, { recursive: true, force: true });
});

function supervise(script: string): SupervisedProcess {
  writeFileSync(join(scratch, "app.mjs"), script);
  const one = new SupervisedProcess({
    name: "app",
    args: [join(scratch, "app.mjs")],
    env: { PATH: process.env.PATH ?? "" },
    cwd: scratch,
    logFile: join(scratch, "app.log"),
    started: (pid) => started.push(pid),
    log: (line) => log.push(line),
  });
  running.push(one);
  return one;
}

const untilMarked = async () => existsSync(join(scratch, "mark"));
const stays = `
  import { writeFileSync } from "node:fs";
  writeFileSync("mark", String(process.pid));
  process.on("SIGTERM", () => { console.log("bye"); process.exit(0); });
  setInterval(() => {}, 1000);`;

test("a process that dies is started again", async () => {
  const app = supervise(stays);
  await app.untilReady(untilMarked);
  rmSync(join(scratch, "mark"));
  process.kill(started[0] ?? 0, "SIGKILL");
  await expect.poll(() => existsSync(join(scratch, "mark")), { timeout: 10_000, interval: 20 }).toBe(true);
  expect(started).toHaveLength(2);
  expect(log).toEqual([expect.stringMatching(/app ended \(SIGKILL\); restarting/)]);
});

test("a stopped process ends in its own way and is not started again", async () => {
  const app = supervise(stays);
  await app.untilReady(untilMarked);
  await app.stop(5_000);
  expect(readFileSync(join(scratch, "app.log"), "utf8")).toContain("bye");
  expect(started).toHaveLength(1);
});

test("a process that ignores the request is ended after the timeout", async () => {
  const app = supervise(stays.replace("process.exit(0)", ""));
  await app.untilReady(untilMarked);
  await app.stop(50);
  expect(identifyProcess(started[0] ?? 0)).toBeUndefined();
});

test("a process that never gets ready fails with the end of its log", async () => {
  const app = supervise('console.error("port 1 is taken"); process.exit(7);');
  const outcome = app.untilReady(async () => false);
  await expect(outcome).rejects.toThrow(ProcessFailed);
  await expect(outcome).rejects.toThrow(/exit code 7[\s\S]*port 1 is taken/);
  expect(started).toHaveLength(3);
});

test("when the supervisor is killed its processes end by themselves, in their own way", async () => {
  writeFileSync(join(scratch, "app.mjs"), stays);
  const supervisor: ChildProcess = spawn(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `const { SupervisedProcess } = await import(${JSON.stringify(supervisorUrl)});
       const app = new SupervisedProcess({ name: "app", args: ["app.mjs"], env: { PATH: process.env.PATH },
         cwd: ${JSON.stringify(scratch)}, logFile: "app.log", started: () => {}, log: () => {} });
       const { existsSync } = await import("node:fs");
       await app.untilReady(async () => existsSync("mark"));
       console.log("ready");`,
    ],
    { cwd: scratch, stdio: ["ignore", "pipe", "inherit"] },
  );
  if (supervisor.stdout === null) throw new Error("no stdout");
  await once(createInterface({ input: supervisor.stdout }), "line");
  const app = identifyProcess(Number(readFileSync(join(scratch, "mark"), "utf8")));
  if (app === undefined) throw new Error("the app does not run");
  supervisor.kill("SIGKILL");
  await expect.poll(() => isStillRunning(app), { timeout: 10_000, interval: 20 }).toBe(false);
  expect(readFileSync(join(scratch, "app.log"), "utf8")).toContain("bye");
});
