// The agent's side of an update, with a control plane and an updater that are not to be trusted.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LAYOUT } from "../install/layout.ts";
import { agentRuntime } from "../runtime.ts";
import { FakeControlPlane, TEST_TOKEN } from "../testing/fake-control-plane.ts";
import { memoryLog } from "../testing/memory-log.ts";
import { Publisher, sha256 } from "../testing/publisher.ts";
import { type MachineState, NO_STATE, readMachineState, writeMachineState } from "./machine-state.ts";
import { releasesOf } from "./release-source.ts";
import { downloadedFile, KEYS_FILE, manifestFile, REQUEST_FILE, type UpdateRequest } from "./request.ts";
import { UPDATE_LIMITS } from "./updatable.ts";
import { UpdateLoop, type UpdateLoopLimits, WISH_FILE } from "./update-loop.ts";

const FILE = Buffer.alloc(300_000, "kule");

let folder: string;
let fake: FakeControlPlane;
let publisher: Publisher;
let stops: (() => Promise<void>)[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "kule-update-loop-"));
  mkdirSync(join(folder, LAYOUT.update), { recursive: true });
  mkdirSync(join(folder, LAYOUT.state), { recursive: true });
  writeMachineState(folder, { ...NO_STATE, highest_version: "1.0.0" });
  publisher = new Publisher();
  fake = await FakeControlPlane.start();
});
afterEach(async () => {
  for (const stop of stops) await stop();
  stops = [];
  await fake.stop();
  rmSync(folder, { recursive: true, force: true });
});

const LIMITS: UpdateLoopLimits = { ...UPDATE_LIMITS, lookEveryMs: 5, longestBackoffMs: 1, answerMs: 60_000 };

/** An agent of version 1.0.0 that holds as many jobs as it is told. */
function startLoop(change: { limits?: Partial<UpdateLoopLimits>; jobs?: number } = {}) {
  const claims = { runningJobs: change.jobs ?? 0, held: [] as string[] };
  const memory = memoryLog();
  const stop = new AbortController();
  const loop = new UpdateLoop({
    source: releasesOf(fake.url, TEST_TOKEN, agentRuntime),
    claims: {
      get runningJobs() {
        return claims.runningJobs;
      },
      hold: async () => void claims.held.push("hold"),
      resume: () => void claims.held.push("resume"),
    },
    // The first second of every pause after a failure is not waited for.
    runtime: { ...agentRuntime, pause: (ms, signal) => agentRuntime.pause(Math.min(ms, 20), signal) },
    log: memory.log,
    crashPoint: () => {},
    root: folder,
    stateDirectory: join(folder, LAYOUT.state),
    runningVersion: "1.0.0",
    architecture: "x64",
    builtIn: publisher.builtIn,
    limits: { ...LIMITS, ...change.limits },
  });
  const running = loop.run(stop.signal);
  const end = async () => {
    stop.abort();
    await running;
  };
  stops.push(end);
  return { loop, claims, end, lines: memory.lines };
}

const publish = (version: string, change: Parameters<Publisher["sign"]>[3] = {}, file = FILE) =>
  fake.releases.set(version, { manifest: publisher.sign(version, file, "x64", change), file });

const inFolder = (name: string) => join(folder, LAYOUT.state, "update", name);
const request = (): UpdateRequest | null =>
  existsSync(inFolder(REQUEST_FILE))
    ? (JSON.parse(readFileSync(inFolder(REQUEST_FILE), "utf8")) as UpdateRequest)
    : null;

async function until(holds: () => boolean, what: string): Promise<void> {
  await expect.poll(holds, { timeout: 20_000, interval: 5, message: what }).toBe(true);
}

/** As the updater does when it has ended. */
function answer(
  state: "done" | "refused" | "rolled_back" | "failed",
  change: Partial<MachineState> = {},
): void {
  const asked = request();
  if (asked === null) throw new Error("nothing was asked");
  const { id: request_id, version } = asked;
  writeMachineState(folder, {
    ...readMachineState(folder),
    ...change,
    phase: "idle",
    update: null,
    result: {
      request_id,
      version,
      state,
      code: "crashed",
      message: "it ended",
      at: new Date().toISOString(),
    },
  });
}

describe("An agent that is to have another version", () => {
  test("verifies it, takes no more jobs, and leaves it for the updater", async () => {
    publish("1.1.0");
    const { loop, claims } = startLoop({ jobs: 1 });
    loop.wants("1.1.0");
    await until(() => loop.progress?.state === "draining", "it drains");
    expect(claims.held).toEqual(["hold"]);
    expect(request()).toBeNull();
    claims.runningJobs = 0;
    await until(() => request() !== null, "it asks");
    expect(request()).toMatchObject({ format: 1, version: "1.1.0" });
    expect(readFileSync(inFolder(downloadedFile("1.1.0")))).toEqual(FILE);
    expect(JSON.parse(readFileSync(inFolder(manifestFile("1.1.0")), "utf8"))).toEqual(
      fake.releases.get("1.1.0")?.manifest,
    );
    expect(JSON.parse(readFileSync(inFolder(KEYS_FILE), "utf8"))).toEqual({ envelopes: [] });
    // Until the updater has answered.
    expect(claims.held).toEqual(["hold"]);
  });

  test("waits no longer than half an hour for its jobs, and takes others then", async () => {
    publish("1.1.0");
    const { loop, claims } = startLoop({ jobs: 2, limits: { drainMs: 30 } });
    loop.wants("1.1.0");
    await until(() => loop.progress?.code === "busy", "it gives up");
    expect(loop.progress).toMatchObject({ version: "1.1.0", state: "draining" });
    await until(() => claims.held.length === 2, "it takes jobs");
    expect(claims.held).toEqual(["hold", "resume"]);
    expect(request()).toBeNull();
  });

  test("stays as it is when the control plane takes its wish back", async () => {
    publish("1.1.0");
    const { loop, claims } = startLoop({ jobs: 1 });
    loop.wants("1.1.0");
    await until(() => loop.progress?.state === "draining", "it drains");
    loop.wants(null);
    await until(() => loop.progress === null, "it forgets");
    expect(claims.held).toEqual(["hold", "resume"]);
    claims.runningJobs = 0;
    expect(request()).toBeNull();
  });

  test("goes on with a download where it was broken off, when it is started again too", async () => {
    publish("1.1.0");
    let breaks = 3;
    fake.breakDownload = () => (breaks-- > 0 ? 50_000 : null);
    const first = startLoop();
    first.loop.wants("1.1.0");
    await until(() => fake.downloads.length >= 2, "it tries again");
    await first.end();
    const second = startLoop();
    second.loop.wants("1.1.0");
    await until(() => request() !== null, "it asks");
    expect(fake.downloads[0]).toBe(0);
    const starts = [...fake.downloads];
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
    expect(starts.at(-1)).toBeGreaterThan(0);
    expect(readFileSync(inFolder(downloadedFile("1.1.0")))).toEqual(FILE);
  });

  test("joins no parts of two builds of one version", async () => {
    publish("1.1.0", {}, Buffer.alloc(300_000, "old!"));
    fake.breakDownload = () => (fake.downloads.length === 1 ? 50_000 : 0);
    const first = startLoop({ limits: { tries: 1 } });
    first.loop.wants("1.1.0");
    await until(() => fake.downloads.length > 0 && first.loop.progress?.state === "failed", "it fails");
    await first.end();
    publish("1.1.0");
    fake.breakDownload = () => null;
    const second = startLoop();
    second.loop.wants("1.1.0");
    await until(() => request() !== null, "it asks");
    expect(sha256(readFileSync(inFolder(downloadedFile("1.1.0"))))).toBe(sha256(FILE));
  });

  test("tells how it ended, and does not try what did not work again", async () => {
    publish("1.1.0");
    const { loop, claims, end } = startLoop();
    loop.wants("1.1.0");
    await until(() => request() !== null, "it asks");
    answer("failed", {
      bad_versions: [{ version: "1.1.0", code: "crashed", message: "it ended", at: "2026-11-27T00:00:00Z" }],
    });
    await until(() => loop.progress?.state === "failed", "it tells");
    expect(loop.progress).toMatchObject({ version: "1.1.0", code: "crashed", message: "it ended" });
    await until(() => claims.held.length === 2, "it takes jobs");
    await end();
    const asked = fake.requestsTo("/1.1.0").length;
    const again = startLoop();
    again.loop.wants("1.1.0");
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(again.loop.progress).toMatchObject({ state: "failed", code: "crashed" });
    expect(fake.requestsTo("/1.1.0").length).toBe(asked);
  });

  test("takes jobs again when no updater answers, and says where to look", async () => {
    publish("1.1.0");
    const { loop, claims } = startLoop({ limits: { answerMs: 30 } });
    loop.wants("1.1.0");
    await until(() => loop.progress?.code === "no_updater", "it gives up");
    expect(loop.progress?.message).toContain("systemctl status kule-agent-update");
    await until(() => claims.held.length === 2, "it takes jobs");
    expect(request()).toBeNull();
  });

  test("that was started again while the updater prepares takes no jobs until it is replaced", async () => {
    mkdirSync(inFolder(""), { recursive: true });
    writeFileSync(inFolder(REQUEST_FILE), JSON.stringify({ format: 1, id: "one", version: "1.1.0" }));
    const update = {
      from: "1.0.0",
      to: "1.1.0",
      request_id: "one",
      attempts: 1,
      boots: 0,
      boot_id: "b",
      started_uptime_ms: null,
      since: "2026-11-27T00:00:00Z",
      reason: null,
    };
    writeMachineState(folder, { ...readMachineState(folder), phase: "preparing", update });
    const { claims } = startLoop();
    await until(() => claims.held.includes("hold"), "it holds");
    expect(request()?.id).toBe("one");
    answer("failed");
    await until(() => claims.held.includes("resume"), "it takes jobs");
  });

  test("is told by an operator on its machine, without the control plane", async () => {
    publish("1.1.0");
    const { loop } = startLoop();
    writeFileSync(
      join(folder, LAYOUT.update, WISH_FILE),
      JSON.stringify({ format: 1, version: "1.1.0", at: new Date().toISOString() }),
    );
    await until(() => request() !== null, "it asks");
    expect(loop.progress?.version).toBe("1.1.0");
  });
});

describe("A release is refused", () => {
  test.each([
    {
      what: "that has expired",
      change: { expires_at: new Date(Date.now() - 1_000).toISOString() },
      code: "expired",
    },
    {
      what: "for another kind of machine",
      change: { files: [{ architecture: "arm64" as const, size_bytes: 1, sha256: "ab".repeat(32) }] },
      code: "no_file",
    },
    {
      what: "that needs another one before it",
      change: { minimum_previous_version: "1.0.1" },
      code: "previous_version_too_old",
    },
  ])("$what, before a byte of it is downloaded", async ({ change, code }) => {
    publish("1.1.0", change);
    const { loop, claims } = startLoop();
    loop.wants("1.1.0");
    await until(() => loop.progress?.state === "refused", "it refuses");
    expect(loop.progress).toMatchObject({ version: "1.1.0", code });
    expect([fake.downloads, claims.held]).toEqual([[], []]);
  });

  test("that another publisher has signed", async () => {
    fake.releases.set("1.1.0", { manifest: new Publisher().sign("1.1.0", FILE), file: FILE });
    const { loop } = startLoop();
    loop.wants("1.1.0");
    await until(() => loop.progress?.state === "refused", "it refuses");
    expect(loop.progress?.code).toBe("untrusted_key");
  });

  test("that the control plane does not have", async () => {
    const { loop } = startLoop();
    loop.wants("1.1.0");
    await until(() => loop.progress?.state === "refused", "it refuses");
    expect(loop.progress?.code).toBe("not_available");
  });

  test.each([
    {
      what: "whose file is another one of the same size",
      file: Buffer.alloc(FILE.length, "evil"),
      code: "wrong_file",
      state: "refused",
    },
    {
      what: "whose file never ends",
      file: Buffer.alloc(FILE.length * 3, "kule"),
      code: "not_downloaded",
      state: "failed",
    },
    {
      what: "whose file is too short",
      file: FILE.subarray(0, 1_000),
      code: "not_downloaded",
      state: "failed",
    },
  ])("$what, and no job waits for it", async ({ file, code, state }) => {
    publish("1.1.0");
    fake.releases.set("1.1.0", { manifest: fake.releases.get("1.1.0")?.manifest as never, file });
    const { loop, claims } = startLoop({ limits: { tries: 3 } });
    loop.wants("1.1.0");
    await until(() => loop.progress?.code === code, "it refuses");
    expect(loop.progress?.state).toBe(state);
    expect(claims.held).toEqual([]);
    expect(existsSync(inFolder(downloadedFile("1.1.0")))).toBe(false);
    for (const name of readdirSync(inFolder("")))
      expect(statSync(inFolder(name)).size).toBeLessThanOrEqual(FILE.length);
  });
});

test("a control plane that is away delays an update, and fails none", async () => {
  publish("1.1.0");
  fake.failWith = 503;
  const { loop } = startLoop();
  loop.wants("1.1.0");
  await until(() => loop.progress?.code === "unreachable", "it waits");
  expect(loop.progress?.state).toBe("downloading");
  fake.failWith = null;
  await until(() => request() !== null, "it asks");
});
