import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { identifyProcess } from "@kule/postgres/process-identity";
import { afterEach, beforeEach, expect, test } from "vitest";
import { AlreadyRunning, claimHome } from "./run-record.ts";

let home: string;
let spawned: ChildProcess[];
const quiet = () => {};

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "kule-home-"));
  spawned = [];
});

afterEach(() => {
  for (const child of spawned) child.kill("SIGKILL");
  rmSync(home, { recursive: true, force: true });
});

async function sleeper(): Promise<ChildProcess & { pid: number }> {
  const child = spawn("sleep", ["600"], { stdio: "ignore" });
  spawned.push(child);
  await once(child, "spawn");
  if (child.pid === undefined) throw new Error("no pid");
  return Object.assign(child, { pid: child.pid });
}

/** Leaves the record of a run whose supervisor was killed. */
async function leaveRecord(children: Record<string, unknown>): Promise<void> {
  const supervisor = await sleeper();
  const identity = identifyProcess(supervisor.pid);
  supervisor.kill("SIGKILL");
  await once(supervisor, "exit");
  writeFileSync(join(home, "run.json"), JSON.stringify({ supervisor: identity, children }));
}

test("a second run on the same directory is refused while the first is running", async () => {
  await claimHome(home, quiet);
  await expect(claimHome(home, quiet)).rejects.toThrow(AlreadyRunning);
  await expect(claimHome(home, quiet)).rejects.toThrow(new RegExp(`process ${process.pid}`));
});

test("children of a killed run are ended before this one begins", async () => {
  const child = await sleeper();
  const exit = once(child, "exit");
  await leaveRecord({ api: identifyProcess(child.pid) });
  const log: string[] = [];
  await claimHome(home, (line) => log.push(line));
  expect(await exit).toEqual([null, "SIGTERM"]);
  expect(log).toEqual([expect.stringContaining("api")]);
});

test("a process that only got the number of an old child is not ended", async () => {
  const stranger = await sleeper();
  const identity = identifyProcess(stranger.pid);
  if (identity === undefined) throw new Error("no identity");
  await leaveRecord({
    earlier: { ...identity, startTicks: identity.startTicks - 1 },
    otherBoot: { ...identity, bootId: "another" },
  });
  await claimHome(home, quiet);
  expect(identifyProcess(stranger.pid)).toEqual(identity);
});

test("a torn record does not prevent a start", async () => {
  writeFileSync(join(home, "run.json"), '{"supervisor":{"pid":');
  const notes = await claimHome(home, quiet);
  const child = await sleeper();
  notes.noteChild("api", child.pid);
  expect(JSON.parse(readFileSync(join(home, "run.json"), "utf8"))).toMatchObject({
    supervisor: { pid: process.pid },
    children: { api: { pid: child.pid } },
  });
  expect(statSync(join(home, "run.json")).mode & 0o777).toBe(0o600);
});
