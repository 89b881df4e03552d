// The conformance suite against the lab: that the lab answers as the driver expects, and that an endpoint that does not
// is found out.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Lab, startLab } from "@kule/lab/lab";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CallRecord, ProxmoxClient } from "../client.ts";
import { DRIVER_CALLS } from "../driver-calls/driver-calls.ts";
import { type HttpAnswer, httpsTransport, type Transport } from "../http-exchange.ts";
import { systemRuntime } from "../runtime.ts";
import { type ConformanceSettings, runConformance } from "./conformance.ts";
import type { ProbeResult } from "./probe-run.ts";

let directory: string;
let lab: Lab;
let clients: ProxmoxClient[] = [];
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "kule-conformance-"));
  lab = await startLab({ dataDir: directory, agentGrant: "pools" });
});
afterEach(async () => {
  for (const client of clients) client.close();
  clients = [];
  await lab.stop();
  rmSync(directory, { recursive: true });
});

const SETTINGS: ConformanceSettings = {
  vmids: [29_990, 29_995],
  template: 9000,
  storage: "ceph-vm",
  bridge: "vmbr1",
  agentSeconds: 20,
};

const calls: CallRecord[] = [];
function connect(secret = lab.tokenSecret, tampering: Tampering = {}): ProxmoxClient {
  const tls = { fingerprints: [lab.fingerprint256] };
  const client = new ProxmoxClient({
    endpoints: [lab.url],
    tokenId: lab.tokenId,
    tokenSecret: secret,
    tls,
    transport: tampered(httpsTransport(tls, systemRuntime), tampering),
    onCall: (record) => calls.push(record),
  });
  clients.push(client);
  return client;
}

/**
 * An endpoint that differs from what the driver expects: its requests, or its answers, are changed in
 * transit.
 */
type Tampering = {
  readonly told?: (method: string, path: string, form: URLSearchParams) => void;
  readonly answers?: (method: string, path: string, answer: HttpAnswer) => HttpAnswer;
};

function tampered(real: Transport, { told, answers }: Tampering): Transport {
  return {
    close: () => real.close(),
    exchange: async (request) => {
      const path = request.url.pathname.replace("/api2/json", "");
      const form = new URLSearchParams(request.body ?? request.url.search);
      told?.(request.method, path, form);
      const url = new URL(request.url);
      if (request.body === null) url.search = form.toString();
      const body = request.body === null ? null : form.toString();
      const headers =
        body === null
          ? request.headers
          : { ...request.headers, "content-length": String(Buffer.byteLength(body)) };
      const answer = await real.exchange({ ...request, url, body, headers });
      return answers?.(request.method, path, answer) ?? answer;
    },
  };
}

async function run(
  tampering: Tampering = {},
  {
    settings = SETTINGS,
    signal = new AbortController().signal,
    onResult = (_: ProbeResult): void => {},
  } = {},
): Promise<readonly ProbeResult[]> {
  const client = connect(lab.tokenSecret, tampering);
  return runConformance(client, connect("wrong"), settings, { runtime: systemRuntime, signal, onResult });
}

const linesOf = (results: readonly ProbeResult[]) =>
  results.flatMap(({ call, what, differs }) => (differs === null ? [] : [`${call}, ${what}: ${differs}`]));
const pools = () => connect().call("GET /pools", {});
const data = (answer: HttpAnswer, value: unknown): HttpAnswer => ({
  ...answer,
  body: JSON.stringify({ data: value }),
});

describe("The conformance suite", { timeout: 60_000 }, () => {
  it("finds the lab as the driver expects, with the runbook's grant, and leaves nothing behind", async () => {
    const before = JSON.stringify(lab.control.vms());
    const results = await run();
    expect(linesOf(results)).toEqual([]);
    expect(JSON.stringify(lab.control.vms())).toBe(before);
    expect(lab.control.volumes(29_990)).toEqual([]);
    expect(await pools()).toEqual([]);
    const touched = new Set(
      lab.journal().flatMap(({ vmid, op }) => (vmid == null || op.startsWith("task-") ? [] : [vmid])),
    );
    expect([...touched]).toEqual([29_990]);
  });

  it("tries every call of the table, with every refusal that the driver relies on", async () => {
    const results = await run();
    const tried = (call: string, refusal?: string) =>
      results.some(
        (result) =>
          result.call === call &&
          (refusal === undefined
            ? result.refusals.length === 0
            : result.refusals.some((each) => each === refusal)),
      );
    /** Calls that never succeed: one is made to be refused, the other needs a privilege that is withheld. */
    const neverGranted = [
      "POST /access/vncticket",
      "DELETE /nodes/{node}/storage/{storage}/content/{volume}",
    ];
    for (const [call, { refusals }] of Object.entries(DRIVER_CALLS)) {
      if (!neverGranted.includes(call)) expect(tried(call), call).toBe(true);
      for (const refusal of refusals) expect(tried(call, refusal), `${call} ${refusal}`).toBe(true);
    }
  });

  it.each<[what: string, call: RegExp, tampering: Tampering]>([
    [
      "loses the prefix of an IPv6 block",
      /^GET .*\/ipset\/\{name\}, its entries/,
      {
        answers: (method, path, answer) =>
          method === "GET" && /\/ipset\/[^/]+$/.test(path)
            ? { ...answer, body: answer.body.replace("::/32", "::") }
            : answer,
      },
    ],
    [
      "takes a digest and does not look at it",
      /^PUT .*\/rules\/\{pos\}, a digest that is not the present one: is not refused/,
      {
        told: (method, path, form) =>
          void (/\/rules\/\d+$/.test(path) && method === "PUT" && form.delete("digest")),
      },
    ],
    [
      "cuts a value at an equals sign",
      /^GET .*\/config, of the clone: has the description/,
      {
        told: (_, path, form) => {
          if (path.endsWith("/clone") && form.has("description"))
            form.set("description", form.get("description")?.split("=")[0] ?? "");
        },
      },
    ],
    [
      "switches a new rule on",
      /^GET .*\/rules, the newest first/,
      {
        told: (method, path, form) =>
          void (method === "POST" && path.endsWith("/rules") && form.set("enable", "1")),
      },
    ],
    [
      "has another text for a number that is taken",
      /^GET \/cluster\/nextid, a number that is taken: is ProxmoxBadRequest .*, expected ProxmoxExists/,
      {
        answers: (_, path, answer) =>
          path === "/cluster/nextid"
            ? { ...answer, body: answer.body.replace("already exists", "is in use") }
            : answer,
      },
    ],
    [
      "answers a started task with nothing",
      /^POST .*\/status\/start, .*: answers null, expected a UPID/,
      {
        answers: (_, path, answer) =>
          path.endsWith("/status/start") && answer.status === 200 ? data(answer, null) : answer,
      },
    ],
    [
      "lists no pool",
      /^GET \/pools, after one was made: lacks it/,
      {
        answers: (method, path, answer) =>
          method === "GET" && path === "/pools" ? data(answer, []) : answer,
      },
    ],
  ])("finds an endpoint that %s", async (_, expected, tampering) => {
    expect(linesOf(await run(tampering)).join("\n")).toMatch(new RegExp(expected.source, "m"));
  });

  it("finds a token that lacks a privilege, and cleans up after it", async () => {
    lab.control.pveum("role", "modify", "CloudNet", "--privs", "Sys.Audit");
    expect(linesOf(await run()).join("\n")).toMatch(
      /POST .*\/clone, .*: is refused: ProxmoxForbidden .*SDN\.Use/,
    );
    expect(lab.control.vm(29_990)).toBeUndefined();
    expect(await pools()).toEqual([]);
  });

  it.each(["POST /pools", "clone into", "PUT .*/resize", "status/start", "vncproxy"])(
    "removes what it has created when it is aborted at %s",
    async (place) => {
      const stop = new AbortController();
      const reached = new RegExp(place === "clone into" ? "a full clone into" : place);
      const onResult = ({ call, what }: ProbeResult) => {
        if (reached.test(`${call} ${what}`)) stop.abort(new Error("called off"));
      };
      await expect(run({}, { signal: stop.signal, onResult })).rejects.toThrow("called off");
      expect(lab.control.vm(29_990)).toBeUndefined();
      expect(lab.control.volumes(29_990)).toEqual([]);
      expect(await pools()).toEqual([]);
    },
  );

  it("removes a clone that was in progress when it was cancelled", async () => {
    const stop = new AbortController();
    lab.faults.tasks.add({ type: "qmclone", action: "held", stage: "unlock" });
    const running = run({}, { signal: stop.signal });
    await lab.faults.tasks.whenHeld();
    stop.abort(new Error("called off"));
    lab.faults.tasks.release();
    await expect(running).rejects.toThrow("called off");
    expect(lab.control.vm(29_990)).toBeUndefined();
    expect(await pools()).toEqual([]);
  });

  it("refuses a range that is not empty, or contains the template, and changes nothing", async () => {
    lab.control.stealVmid(29_993);
    const begun = lab.journal().length;
    await expect(run()).rejects.toThrow("the range 29990-29995 is not empty: 29993");
    await expect(run({}, { settings: { ...SETTINGS, vmids: [8_990, 9_001] } })).rejects.toThrow(
      "template 9000 is in the range",
    );
    await expect(run({}, { settings: { ...SETTINGS, vmids: [29_980, 29_980] } })).rejects.toThrow("2 to 20");
    lab.control.deleteVm(29_993);
    lab.control.leaveVolume("ceph-vm", 29_990);
    await expect(run()).rejects.toThrow(/there are volumes .*ceph-vm:vm-29990-disk-99/);
    const changed = lab
      .journal()
      .slice(begun)
      .filter(({ user }) => user === lab.tokenId);
    expect(changed).toEqual([]);
  });
});
