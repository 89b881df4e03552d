import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ByteStream, nextUpdate } from "@kule/lab/console/rfb-client";
import { type Lab, type LabOptions, startLab } from "@kule/lab/lab";
import { afterEach, expect, test } from "vitest";
import { ProxmoxClient } from "./client.ts";
import { ConsoleUnavailable, ProxmoxConsoles } from "./console.ts";
import type { ConsoleStream } from "./console-stream.ts";
import { renderMarker } from "./marker.ts";
import { systemRuntime } from "./runtime.ts";
import { answerVncChallenge } from "./vnc-auth.ts";

const owner = { serverId: "srv_00000000000000000000000001", region: "lab1" };
const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function open(options: Partial<LabOptions> = {}, fingerprint?: string) {
  const dataDir = mkdtempSync(join(tmpdir(), "kule-proxmox-"));
  const lab = await startLab({ dataDir, ...options });
  ends.push(async () => {
    await lab.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const client = new ProxmoxClient({
    endpoints: [lab.url],
    tokenId: lab.tokenId,
    tokenSecret: lab.tokenSecret,
    tls: { fingerprints: [fingerprint ?? lab.fingerprint256] },
  });
  return { lab, client, consoles: new ProxmoxConsoles({ client, runtime: systemRuntime }) };
}

async function vm(
  lab: Lab,
  client: ProxmoxClient,
  template = 9000,
  more: Record<string, string> = {},
): Promise<number> {
  const vmid = 20_000;
  const node = "pve1";
  const marker = {
    ...owner,
    organisationId: "org_00000000000000000000000001",
    jobId: "job_00000000000000000000000001",
  };
  await client.call("POST /pools", { poolid: "kule-x" });
  const clone = {
    node,
    vmid: template,
    newid: vmid,
    name: "web",
    pool: "kule-x",
    description: renderMarker(marker),
  };
  await client.call("POST /nodes/{node}/qemu/{vmid}/clone", { ...clone, full: true, storage: "ceph-vm" });
  await lab.control.settled();
  await client.call("POST /nodes/{node}/qemu/{vmid}/config", { node, vmid, memory: "2048", ...more });
  await lab.control.settled();
  await client.call("POST /nodes/{node}/qemu/{vmid}/status/start", { node, vmid });
  await lab.control.settled();
  return vmid;
}

function listen(stream: ConsoleStream) {
  let bytes = Buffer.alloc(0);
  let taken = 0;
  let isOver = false;
  let wake = (): void => {};
  stream.listen({
    data: (more) => {
      bytes = Buffer.concat([bytes, more]);
      wake();
    },
    end: () => {
      isOver = true;
      wake();
    },
  });
  const until = async (holds: () => boolean) => {
    while (!holds()) {
      if (isOver) throw new Error(`over after ${JSON.stringify(bytes.toString())}`);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const reader: ByteStream = {
    write: (each) => stream.send(each, () => {}),
    read: async (length) => {
      await until(() => bytes.length >= taken + length);
      taken += length;
      return bytes.subarray(taken - length, taken);
    },
  };
  return { text: () => bytes.toString(), until, reader, isOver: () => isOver };
}

test("a terminal answers what is typed", async () => {
  const { lab, client, consoles } = await open();
  const stream = await consoles.open("serial", await vm(lab, client), owner, AbortSignal.timeout(5000));
  const { text, until } = listen(stream);
  stream.resize(100, 30);
  stream.send(Buffer.from("\r"), () => {});
  await until(() => /login: $/.test(text()));
  stream.close();
});

test("a screen is signed in to, so that its viewer needs no password", async () => {
  const { lab, client, consoles } = await open();
  const vmid = await vm(lab, client, 9005);
  const stream = await consoles.open("vnc", vmid, owner, AbortSignal.timeout(5000));
  const { reader } = listen(stream);
  reader.write(Buffer.from([1]));
  const init = await reader.read(24);
  const name = await reader.read(init.readUInt32BE(20));
  expect([init.readUInt16BE(0), name.toString()]).toEqual([800, "QEMU (web)"]);
  const update = await nextUpdate(reader, { width: 800, height: 600, name: "" }, false);
  expect(update.pixels.length).toBe(800 * 600 * 4);
  stream.close();
});

test.each(["8.2", "9.0"] as const)(
  "%s lets no token into a terminal, and its screen shows the same line",
  async (version) => {
    const { lab, client, consoles } = await open({ version });
    const vmid = await vm(lab, client);
    await expect(consoles.open("serial", vmid, owner, AbortSignal.timeout(5000))).rejects.toMatchObject({
      code: "serial_unsupported",
    });
    (await consoles.open("vnc", vmid, owner, AbortSignal.timeout(5000))).close();
  },
);

test("a VM without a serial port is reported as such", async () => {
  const { lab, client, consoles } = await open();
  const vmid = await vm(lab, client, 9005);
  await expect(consoles.open("serial", vmid, owner, AbortSignal.timeout(5000))).rejects.toMatchObject({
    code: "serial_unsupported",
  });
});

test("a VM that is off, or missing, has no console", async () => {
  const { lab, client, consoles } = await open();
  const vmid = await vm(lab, client);
  lab.control.setPower(vmid, false);
  await expect(consoles.open("serial", vmid, owner, AbortSignal.timeout(5000))).rejects.toMatchObject({
    code: "server_off",
  });
  await expect(consoles.open("serial", 20_999, owner, AbortSignal.timeout(5000))).rejects.toMatchObject({
    code: "server_off",
  });
});

test("a foreign VM is not opened", async () => {
  const { lab, client, consoles } = await open();
  const vmid = await vm(lab, client);
  const other = { ...owner, serverId: "srv_00000000000000000000000002" };
  await expect(consoles.open("serial", vmid, other, AbortSignal.timeout(5000))).rejects.toBeInstanceOf(
    ConsoleUnavailable,
  );
  expect(lab.journal().filter(({ detail }) => detail?.type === "vncproxy")).toEqual([]);
});

test("a server with another certificate gets neither token nor ticket", async () => {
  const { lab, client } = await open();
  const proxy = { port: "5900", vncticket: "x" };
  const strict = new ProxmoxClient({
    endpoints: [lab.url],
    tokenId: lab.tokenId,
    tokenSecret: lab.tokenSecret,
    tls: { fingerprints: ["AB".repeat(32)] },
  });
  const path = "/nodes/pve1/qemu/9000/vncwebsocket";
  await expect(strict.webSocket(new URL(lab.url), path, proxy)).rejects.toThrow(/fingerprint/);
  await expect(client.webSocket(new URL(lab.url), path, proxy)).rejects.toThrow(/403/);
});

test("a console that never begins is closed", async () => {
  const { lab, client, consoles } = await open();
  const vmid = await vm(lab, client);
  lab.faults.add({ path: "/vncwebsocket$", action: "hang-before", count: 0 });
  await expect(consoles.open("serial", vmid, owner, AbortSignal.timeout(300))).rejects.toMatchObject({
    code: "hypervisor_failed",
  });
});

test("of a VNC password eight bytes count", () => {
  const challenge = Buffer.from("0123456789abcdeffedcba9876543210", "hex");
  expect(answerVncChallenge("password", challenge)).not.toEqual(answerVncChallenge("passwore", challenge));
  expect(answerVncChallenge("password1", challenge)).toEqual(answerVncChallenge("password2", challenge));
});
