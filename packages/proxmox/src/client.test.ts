import { afterEach, describe, expect, it } from "vitest";
import { type CallRecord, ProxmoxClient, type ProxmoxClientOptions } from "./client.ts";
import {
  ProxmoxError,
  ProxmoxLocked,
  ProxmoxNodeUnreachable,
  ProxmoxReadOnly,
  ProxmoxUnauthorized,
  ProxmoxUnknownOutcome,
  ProxmoxUntrusted,
} from "./errors.ts";
import {
  type ScriptedRequest,
  type ScriptedResponse,
  type ScriptedServer,
  startScriptedServer,
} from "./testing/scripted-server.ts";

const secret = "11111111-2222-3333-4444-555555555555";
const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function server(
  answer: (asked: ScriptedRequest) => ScriptedResponse | Promise<ScriptedResponse>,
): Promise<ScriptedServer> {
  const started = await startScriptedServer(answer);
  cleanUps.push(() => started.stop());
  return started;
}

function client(
  servers: readonly ScriptedServer[],
  options: Partial<ProxmoxClientOptions> = {},
): ProxmoxClient {
  const made = new ProxmoxClient({
    endpoints: servers.map((each) => each.url),
    tokenId: "cloud@pve!agent",
    tokenSecret: secret,
    tls: { fingerprints: servers.map((each) => each.fingerprint256) },
    ...options,
  });
  cleanUps.push(() => made.close());
  return made;
}

async function failure(promise: Promise<unknown>): Promise<ProxmoxError> {
  const error = await promise.then(
    () => new Error("the call succeeded"),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ProxmoxError)) throw error;
  return error;
}

const ok = () => ({ data: { version: "9.1.4" } });
const startVm = { node: "pve1", vmid: 20001 };
const START = "POST /nodes/{node}/qemu/{vmid}/status/start";

describe("A client that only reads", () => {
  it("reads, and sends no call that changes something", async () => {
    const pve = await server(ok);
    const reading = client([pve], { readOnly: true });
    expect(await reading.call("GET /version", {})).toEqual({ version: "9.1.4" });
    const sent = pve.bytesReceived();
    expect(await failure(reading.call(START, startVm))).toBeInstanceOf(ProxmoxReadOnly);
    expect(pve.bytesReceived()).toBe(sent);
  });
});

describe("The client's trust", () => {
  it("pins a fingerprint however it is written", async () => {
    const pve = await server(ok);
    const written = pve.fingerprint256.replaceAll(":", "").toLowerCase();
    expect(await client([pve], { tls: { fingerprints: [written] } }).call("GET /version", {})).toEqual({
      version: "9.1.4",
    });
  });

  it("sends no byte to a server with another certificate, on reads and on changes", async () => {
    const pve = await server(ok);
    const wrong = client([pve], { tls: { fingerprints: ["AB".repeat(32)] } });
    const read = await failure(wrong.call("GET /version", {}));
    const change = await failure(wrong.call(START, startVm));
    for (const error of [read, change]) {
      expect(error).toBeInstanceOf(ProxmoxUntrusted);
      expect(error.outcome).toBe("retryable");
      expect(error.message).toContain(pve.fingerprint256);
    }
    expect(pve.attempts()).toBe(2);
    expect(pve.bytesReceived()).toBe(0);
    expect(pve.asked).toEqual([]);
    // The count does see what a trusted client sends.
    await client([pve]).call("GET /version", {});
    expect(pve.bytesReceived()).toBeGreaterThan(100);
  });

  it("trusts a certificate given as CA and refuses it from the system's CAs", async () => {
    const pve = await server(ok);
    expect(await client([pve], { tls: { ca: pve.certificatePem } }).call("GET /version", {})).toEqual({
      version: "9.1.4",
    });
    const byBytes = pve.bytesReceived();
    expect(await failure(client([pve], { tls: { system: true } }).call("GET /version", {}))).toBeInstanceOf(
      ProxmoxUntrusted,
    );
    expect(pve.bytesReceived()).toBe(byBytes);
  });

  it("refuses no way of authentication, two ways, and a text that is no fingerprint", async () => {
    const pve = await server(ok);
    const two = { ca: pve.certificatePem, fingerprints: [pve.fingerprint256] } as unknown as { ca: string };
    for (const tls of [{} as { ca: string }, two, { fingerprints: [] }, { fingerprints: ["SHA1:12"] }])
      expect(() => client([pve], { tls })).toThrow(TypeError);
  });

  it("compares the certificate of every new connection", async () => {
    const pve = await server(ok);
    const pinned = client([pve]);
    await pinned.call("GET /version", {});
    await pinned.call(START, startVm);
    await pinned.call(START, startVm);
    expect(pve.connections()).toBe(3);
  });
});

describe("The client's requests", () => {
  it("carry the token, and every special character of a value unharmed", async () => {
    const pve = await server(() => ({ data: null }));
    const description = "a=b;c&d+e f\nkule:v1 ü";
    await client([pve]).call("POST /nodes/{node}/qemu/{vmid}/config", {
      ...startVm,
      description,
      onboot: "1",
      protection: "0",
      net0: "virtio=BC:24:11:00:00:02,bridge=vmbr1",
    });
    const [asked] = pve.asked;
    expect(asked?.authorization).toBe(`PVEAPIToken=cloud@pve!agent=${secret}`);
    expect(asked?.path).toBe("/nodes/pve1/qemu/20001/config");
    // Proxmox cuts at a raw "=" or ";" inside a value.
    for (const pair of (asked?.body ?? "").split("&")) expect(pair).toMatch(/^[^=;]+=[^=;]*$/);
    expect(Object.fromEntries(asked?.form ?? [])).toEqual({
      description,
      onboot: "1",
      protection: "0",
      net0: "virtio=BC:24:11:00:00:02,bridge=vmbr1",
    });
  });

  it("put the parameters of a DELETE into the query, for a body there is refused", async () => {
    const pve = await server(() => ({ data: "UPID" }));
    await client([pve]).call("DELETE /nodes/{node}/qemu/{vmid}", { ...startVm, purge: true });
    expect(pve.asked[0]).toMatchObject({ method: "DELETE", body: "" });
    expect(pve.asked[0]?.form.get("purge")).toBe("1");
  });

  it("keep a connection for reads and open one for each change", async () => {
    const pve = await server(ok);
    const pinned = client([pve]);
    for (let n = 0; n < 5; n++) await pinned.call("GET /version", {});
    expect(pve.connections()).toBe(1);
    for (let n = 0; n < 3; n++) await pinned.call(START, startVm);
    expect(pve.connections()).toBe(4);
  });

  it("are at most two changes at a time on one node, and do not wait for another node's", async () => {
    const releases: (() => void)[] = [];
    let underWay = 0;
    let most = 0;
    const arrived: (() => void)[] = [];
    const pve = await server(async ({ path }) => {
      if (path.includes("pve2")) return { data: "other" };
      most = Math.max(most, ++underWay);
      arrived.shift()?.();
      await new Promise<void>((resolve) => releases.push(resolve));
      underWay -= 1;
      return { data: "UPID" };
    });
    const pinned = client([pve]);
    const twoHere = Promise.all([0, 1].map(() => new Promise<void>((resolve) => arrived.push(resolve))));
    const calls = [1, 2, 3, 4].map((n) => pinned.call(START, { node: "pve1", vmid: 20000 + n }));
    await twoHere;
    expect(await pinned.call(START, { node: "pve2", vmid: 20009 })).toBe("other");
    let settled = 0;
    for (const call of calls) call.then(() => settled++);
    while (settled < 4) {
      releases.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(most).toBe(2);
  });
});

describe("An answer that never arrives", () => {
  it("leaves the outcome of a change unknown, and the change is not sent again", async () => {
    for (const told of ["cut", "silence"] as const) {
      const first = await server(() => told);
      const second = await server(ok);
      const error = await failure(
        client([first, second]).call(START, startVm, { deadlineMilliseconds: 300 }),
      );
      expect(error).toBeInstanceOf(ProxmoxUnknownOutcome);
      expect(error.outcome).toBe("unknown");
      expect(first.asked).toHaveLength(1);
      expect(second.asked).toHaveLength(0);
    }
  });

  it("sends a read to the next endpoint, which is tried first from then on", async () => {
    const first = await server(() => "cut");
    const second = await server(ok);
    const both = client([first, second]);
    expect(await both.call("GET /version", {})).toEqual({ version: "9.1.4" });
    await both.call("GET /version", {});
    expect(first.asked).toHaveLength(1);
    expect(second.asked).toHaveLength(2);
  });

  it("sends a change to the next endpoint when the first could not even be reached", async () => {
    const gone = await server(ok);
    await gone.stop();
    cleanUps.splice(cleanUps.length - 1);
    const second = await server(() => ({ data: "UPID" }));
    expect(await client([gone, second]).call(START, startVm)).toBe("UPID");
    const nobody = await failure(client([gone]).call(START, startVm));
    expect(nobody).toBeInstanceOf(ProxmoxNodeUnreachable);
    expect(nobody.outcome).toBe("retryable");
  });

  it("is detected when a kept connection has just been closed by the server", async () => {
    let close = false;
    const pve = await server(() => {
      if (!close) return ok();
      close = false;
      return "cut";
    });
    const pinned = client([pve]);
    await pinned.call("GET /version", {});
    close = true;
    expect(await pinned.call("GET /version", {})).toEqual({ version: "9.1.4" });
  });
});

describe("A failure", () => {
  it("is classified by reason phrase, message and parameter errors together", async () => {
    const old = await server(() => ({ status: 500, reason: "VM is locked (clone)" }));
    expect(await failure(client([old]).call(START, startVm))).toBeInstanceOf(ProxmoxLocked);
    const recent = await server(() => ({
      status: 500,
      reason: "x",
      body: { data: null, message: "VM is locked (backup)\n" },
    }));
    expect(await failure(client([recent]).call(START, startVm))).toBeInstanceOf(ProxmoxLocked);
    const parameters = await server(() => ({
      status: 400,
      reason: "Parameter verification failed.",
      body: { errors: { vmid: "too small\n" } },
    }));
    expect((await failure(client([parameters]).call(START, startVm))).message).toContain("vmid: too small");
  });

  it("of the token is recognised even without a body that is JSON", async () => {
    const pve = await server(() => ({ status: 401, reason: "Authentication failed!", text: "<html>" }));
    expect(await failure(client([pve]).call("GET /version", {}))).toBeInstanceOf(ProxmoxUnauthorized);
  });

  it("is what a success of something else than Proxmox is, and for a change an unknown outcome", async () => {
    const portal = await server(() => ({ status: 200, text: "<html>welcome</html>" }));
    expect((await failure(client([portal]).call("GET /version", {}))).outcome).toBe("retryable");
    expect((await failure(client([portal]).call(START, startVm))).outcome).toBe("unknown");
  });

  it("shows no secret, neither in the error nor in the log", async () => {
    const password = "hunter2hunter2";
    const log: CallRecord[] = [];
    const pve = await server(({ authorization, body }) => ({
      status: 500,
      reason: "refused",
      body: { message: `bad ${authorization} with ${body} and ${password}` },
    }));
    const spoken = client([pve], { onCall: (record) => log.push(record) });
    const error = await failure(
      spoken.call("POST /nodes/{node}/qemu/{vmid}/config", {
        ...startVm,
        cipassword: password,
        sshkeys: "ssh-ed25519%20AAAA",
      }),
    );
    const everything = JSON.stringify([error.message, error.facts, error.stack, log]);
    for (const hidden of [secret, password, "ssh-ed25519%20AAAA"]) expect(everything).not.toContain(hidden);
    expect(log[0]).toMatchObject({ call: "POST /nodes/pve1/qemu/20001/config", status: 500 });
  });
});
