import { afterEach, describe, expect, it } from "vitest";
import { ProxmoxClient } from "./client.ts";
import { ProxmoxCapacity, type ProxmoxError, ProxmoxTaskLost } from "./errors.ts";
import { waitForTask } from "./task.ts";
import {
  type ScriptedResponse,
  type ScriptedServer,
  startScriptedServer,
} from "./testing/scripted-server.ts";
import { virtualRuntime } from "./testing/virtual-runtime.ts";
import { parseUpid } from "./upid.ts";

const upid = "UPID:pve2:0002B0C4:01A4F2D8:65F0C3A1:qmclone:9000:cloud@pve!agent:";
let pve: ScriptedServer | null = null;
afterEach(() => pve?.stop());

/** Answers the status call with one entry after the other, the last one for ever. */
async function waiting(
  statuses: readonly ScriptedResponse[],
  log: readonly string[] = [],
  deadlineMilliseconds = 60_000,
) {
  let at = 0;
  pve = await startScriptedServer(({ path }) =>
    path.endsWith("/log")
      ? { data: log.map((t, index) => ({ n: index + 1, t })) }
      : (statuses[Math.min(at++, statuses.length - 1)] ?? "cut"),
  );
  const client = new ProxmoxClient({
    endpoints: [pve.url],
    tokenId: "cloud@pve!agent",
    tokenSecret: "secret-secret",
    tls: { fingerprints: [pve.fingerprint256] },
  });
  const runtime = virtualRuntime();
  const result = waitForTask(client, upid, { runtime, deadlineMilliseconds }).finally(() => client.close());
  return { result, runtime, pve };
}

const running = { data: { status: "running" } };
const stopped = (exitstatus: string) => ({ data: { status: "stopped", exitstatus } });

describe("Waiting for a task", () => {
  it("polls the node that runs it, with backoff, until it is OK", async () => {
    const { result, runtime, pve } = await waiting([
      ...Array<ScriptedResponse>(19).fill(running),
      stopped("OK"),
    ]);
    expect(await result).toEqual({ warnings: null });
    expect(pve.asked[0]?.path).toBe(`/nodes/pve2/tasks/${encodeURIComponent(upid)}/status`);
    expect(runtime.pauses).toEqual([25, 50, 100, 200, 400, ...Array(9).fill(500), ...Array(5).fill(2000)]);
  });

  it("counts warnings as success and reports them", async () => {
    const { result } = await waiting([stopped("WARNINGS: 2")], ["could not free volume x"]);
    expect(await result).toEqual({ warnings: "WARNINGS: 2\ncould not free volume x" });
  });

  it("gives a failure its class and the end of its log", async () => {
    const log = Array.from({ length: 50 }, (_, n) => `line ${n}`);
    const { result } = await waiting([stopped("no space left on device")], log);
    const error = await result.catch((thrown: ProxmoxError) => thrown);
    expect(error).toBeInstanceOf(ProxmoxCapacity);
    expect((error as ProxmoxError).facts.task?.logTail).toEqual(log.slice(-20));
  });

  it("does not mistake a failed status query for a lost task", async () => {
    const { result } = await waiting([
      "cut",
      { status: 595, reason: "No route to host" },
      running,
      stopped("OK"),
    ]);
    expect(await result).toEqual({ warnings: null });
  });

  it("waits a moment for an unknown task, and ends with an unknown outcome when it stays unknown", async () => {
    const unknown = { status: 400, reason: "no such task" };
    const early = await waiting([unknown, running, stopped("OK")]);
    expect(await early.result).toEqual({ warnings: null });
    await pve?.stop();
    const late = await waiting([unknown]);
    await expect(late.result).rejects.toBeInstanceOf(ProxmoxTaskLost);
  });

  it.each(["unexpected status", "unable to get last line from task log - No such file"])(
    "ends not knowing on '%s'",
    async (exit) => {
      const { result } = await waiting([stopped(exit)]);
      const error = (await result.catch((thrown: unknown) => thrown)) as ProxmoxError;
      expect([error.name, error.outcome]).toEqual(["ProxmoxTaskLost", "unknown"]);
    },
  );

  it("ends with an unknown result at the deadline, since the task continues", async () => {
    const { result } = await waiting([running], [], 3_000);
    const error = (await result.catch((thrown: unknown) => thrown)) as ProxmoxError;
    expect(error.outcome).toBe("unknown");
    expect(error.message).toContain("still running after 3 s");
  });
});

describe("A UPID", () => {
  it("is parsed, and refused when a part is missing", () => {
    expect(parseUpid(upid)).toMatchObject({
      node: "pve2",
      type: "qmclone",
      id: "9000",
      user: "cloud@pve!agent",
      startedAtSeconds: 0x65f0c3a1,
    });
    expect(parseUpid("UPID:pve2:0002B0C4:01A4F2D8:65F0C3A1:qmclone:9000:")).toBeNull();
    expect(parseUpid(null)).toBeNull();
  });
});
