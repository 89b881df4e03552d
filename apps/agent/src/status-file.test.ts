import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type AgentRuntime, agentRuntime } from "./runtime.ts";
import { showStatus } from "./show-status.ts";
import { isRunning, readStatus, StatusFile } from "./status-file.ts";
import { memoryLog } from "./testing/memory-log.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kule-status-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Time stands still, and what waits is done by the test. */
function start(directory = folder) {
  const waiting: (() => void)[] = [];
  const runtime: AgentRuntime = {
    ...agentRuntime,
    now: () => Date.parse("2026-11-27T04:00:00Z"),
    after: (_, callback) => {
      waiting.push(callback);
      return () => {};
    },
  };
  const memory = memoryLog();
  const facts = {
    version: "0.1.0",
    name: "ist1 agent",
    region: "ist1",
    control_plane: "https://kule.example",
  };
  const file = new StatusFile(directory, facts, runtime, memory.log);
  return {
    file,
    lines: memory.lines,
    waiting,
    passTime: () => {
      for (const callback of waiting.splice(0)) callback();
    },
  };
}

const show = (seconds = 0, json = false) =>
  showStatus(folder, {}, { json, now: Date.parse("2026-11-27T04:00:00Z") + seconds * 1000 });

test("the status of an agent names what it does, and only its user can read it", () => {
  const { file, passTime } = start();
  file.jobClaimed("job_1", "ServerCreate");
  file.stepBegan("job_1", "clone");
  file.healthReported({ region: "all well", undelivered: null, keyUse: "in_use" });
  passTime();
  expect(statSync(join(folder, "status.json")).mode & 0o777).toBe(0o600);
  const { text, exit } = show(12);
  expect(exit).toBe(0);
  expect(text).toMatch(new RegExp(`^state +works, process ${process.pid}, for 12 s$`, "m"));
  expect(text).toMatch(/^control plane +https:\/\/kule\.example takes this agent's calls$/m);
  expect(text).toMatch(/^key +secrets are sealed to this agent's key$/m);
  expect(text).toMatch(/^last health +12 s ago: all well$/m);
  expect(text).toMatch(/^last claim +12 s ago: ServerCreate job_1$/m);
  expect(text).toMatch(/^jobs +ServerCreate job_1 for 12 s: clone$/m);
  expect(JSON.parse(show(0, true).text)).toMatchObject({ running: true, status: { version: "0.1.0" } });
});

test("what the control plane refuses, and what it waits for, is shown", () => {
  const { file, passTime } = start();
  file.controlPlaneAnswered("HTTP 502");
  file.healthReported({ region: "all well", undelivered: "HTTP 502", keyUse: "waits_for_approval" });
  file.jobClaimed("job_1", "ServerCreate");
  file.jobGone("job_1");
  passTime();
  const { text } = show();
  expect(text).toMatch(/^control plane +https:\/\/kule\.example does not: HTTP 502$/m);
  expect(text).toMatch(/^key +an operator has to approve/m);
  expect(text).toMatch(/; not delivered: HTTP 502$/m);
  expect(text).toMatch(/^jobs +none$/m);
});

test("many changes are one write", () => {
  const { file, waiting } = start();
  for (const step of ["observe", "plan", "clone"]) file.stepBegan("job_1", step);
  file.jobClaimed("job_1", "ServerCreate");
  expect(waiting.length).toBe(1);
  expect(existsSync(join(folder, "status.json"))).toBe(false);
});

test("an agent that was stopped, or killed, does not count as running", () => {
  const { file, passTime } = start();
  file.controlPlaneAnswered("HTTP 502");
  passTime();
  const status = readStatus(folder);
  if (status === null) throw new Error("there is no status");
  expect(isRunning(status)).toBe(true);
  // Another process has its number now.
  writeFileSync(join(folder, "status.json"), JSON.stringify({ ...status, process_start: "1" }));
  expect(show(30)).toMatchObject({ exit: 3, text: expect.stringContaining("does not run") });
  file.stopped();
  expect(show(30)).toMatchObject({ exit: 3, text: expect.stringContaining("was stopped 30 s ago") });
});

test("a folder without a status, or with another file, is named with what to do", () => {
  expect(show()).toMatchObject({ exit: 3, text: expect.stringMatching(/no agent has run.*\n {4}fix: /) });
  writeFileSync(join(folder, "status.json"), "not ours");
  expect(show()).toMatchObject({ exit: 1, text: expect.stringMatching(/cannot be read.*\n {4}fix: /) });
});

test("an agent whose status cannot be written works on, and says so once", () => {
  const { file, passTime, lines } = start(join(folder, "absent"));
  for (const trouble of ["HTTP 500", "HTTP 501"]) {
    file.controlPlaneAnswered(trouble);
    passTime();
  }
  expect(lines.map(({ msg }) => msg)).toEqual(["the agent's status cannot be written"]);
  expect(() => readFileSync(join(folder, "absent/status.json"))).toThrow();
});

test("an update is shown with the version that the control plane wants, and why there is none", () => {
  const { file, passTime } = start();
  const at = "2026-11-27T04:00:00Z";
  const progress = {
    version: "0.2.0",
    state: "rolled_back",
    code: "crashed",
    message: "it ended",
    at,
  } as const;
  file.updateChanged({ hindrance: null, wanted: "0.2.0", progress });
  passTime();
  expect(show(30).text).toMatch(
    /^update +the control plane wants 0\.2\.0; 0\.2\.0 rolled back, 30 s ago: it ended$/m,
  );
  file.updateChanged({ hindrance: "this build has no keys of a publisher", wanted: null, progress: null });
  passTime();
  expect(show().text).toMatch(/^update +not by itself: this build has no keys of a publisher$/m);
});

test("what the updater reads is there from the first report and the first claim on", () => {
  const { file, passTime } = start();
  passTime();
  expect(readStatus(folder)).toMatchObject({ health_accepted_at: null, claim_answered_at: null });
  file.controlPlaneAnswered("HTTP 502");
  file.healthReported({ region: "all well", undelivered: "HTTP 502", keyUse: null });
  passTime();
  expect(readStatus(folder)).toMatchObject({ health_accepted_at: null, claim_answered_at: null });
  file.controlPlaneAnswered(null);
  file.healthReported({ region: "all well", undelivered: null, keyUse: null });
  passTime();
  expect(readStatus(folder)).toMatchObject({
    health_accepted_at: expect.any(String),
    claim_answered_at: expect.any(String),
  });
});
