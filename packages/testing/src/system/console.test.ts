import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Schemas } from "@kule/contract/schemas";
import { type ByteStream, nextUpdate, openRfb } from "@kule/lab/console/rfb-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import type { TestProcess } from "../child-process.ts";
import { type RegionWorld, startRegionWorld } from "../region-world.ts";
import { type RoundRobin, startRoundRobin } from "../rig/round-robin.ts";

/** Kule as it runs, with two processes of the API behind a load balancer that knows nothing of sessions. */
let world: RegionWorld;
let balancer: RoundRobin;
let second: { readonly origin: string; readonly process: TestProcess };
let agent: TestProcess;
let linux: Schemas["ServerCreated"];
const origins: string[] = [];

beforeAll(async () => {
  world = await startRegionWorld({
    links: {
      agentToApi: async (origin) => {
        origins.push(origin);
        balancer = await startRoundRobin(origins);
        return balancer.origin;
      },
    },
  });
  second = await world.addApi();
  origins.push(second.origin);
  agent = world.startAgent();
  linux = await world.createServer("web-1");
  await world.untilDone(linux.job.id);
}, 120_000);
afterAll(async () => {
  await world.end();
  await balancer.close();
});

type Ticket = Schemas["ConsoleTicket"];

async function ticketOf(serverId: string, body: Schemas["ConsoleOpen"] = {}): Promise<Ticket> {
  const { data, error } = await world.organisation.POST("/servers/{server_id}/console", {
    params: { path: { server_id: serverId } },
    body,
  });
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

class Viewer {
  readonly socket: WebSocket;
  bytes = Buffer.alloc(0);
  reason: string | null = null;
  /** Keeps only the last of what comes: a flood would fill this process, which is also the load balancer. */
  keepsTail = false;
  #taken = 0;
  #wake: () => void = () => {};

  constructor(ticket: Ticket, origin = balancer.origin) {
    const url = `${origin.replace("http", "ws")}${new URL(ticket.url).pathname}`;
    this.socket = new WebSocket(url, [ticket.protocol, `kule.ticket.${ticket.ticket}`]);
    this.socket.on("message", (data, isBinary) => {
      if (isBinary)
        this.bytes = Buffer.concat([this.keepsTail ? this.bytes.subarray(-400) : this.bytes, data as Buffer]);
      this.#wake();
    });
    this.socket.on("error", () => {});
    this.socket.on("close", (_code, reason) => {
      this.reason = reason.toString();
      this.#wake();
    });
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      if (this.reason !== null)
        throw new Error(
          `closed as ${this.reason} after ${this.bytes.toString().slice(-500)}\n${world.outputs()}`,
        );
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Types a line and waits for what it leads to. */
  async line(text: string, until: RegExp): Promise<string> {
    const from = this.bytes.length;
    this.socket.send(Buffer.from(`${text}\r`));
    await this.until(() => until.test(this.bytes.toString("utf8", from)));
    return this.bytes.toString("utf8", from);
  }

  get stream(): ByteStream {
    return {
      write: (bytes) => this.socket.send(bytes),
      read: async (length) => {
        await this.until(() => this.bytes.length >= this.#taken + length);
        this.#taken += length;
        return this.bytes.subarray(this.#taken - length, this.#taken);
      },
    };
  }

  async end(): Promise<string> {
    while (this.reason === null)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    return this.reason;
  }
}

const opened = async (viewer: Viewer): Promise<Viewer> => {
  await viewer.until(() => viewer.bytes.length > 0);
  return viewer;
};

test("a person signs in on the serial line and runs a command, within a second of the click", async () => {
  const clickedAt = performance.now();
  const viewer = await opened(new Viewer(await ticketOf(linux.server.id)));
  await viewer.line("", /login: $/);
  const tookMs = performance.now() - clickedAt;
  expect(tookMs).toBeLessThan(process.env.CI === undefined ? 3_000 : 5_000);
  await viewer.line("ubuntu", /Password: $/);
  expect(await viewer.line(linux.console_password ?? "", /\$ $/)).toContain("Welcome to Ubuntu 24.04");
  const address = linux.server.interfaces[0]?.private_ip ?? "none";
  expect(await viewer.line("ip a", /\$ $/)).toContain(`inet ${address}/`);
  viewer.socket.close();
  await viewer.end();
});

test("sessions find both sides whichever process each of them met", async () => {
  for (let n = 0; n < 6; n += 1) {
    const viewer = await opened(new Viewer(await ticketOf(linux.server.id), origins[n % 2]));
    await viewer.line("", /login: |\$ $|Password: /);
    viewer.socket.close();
    await viewer.end();
  }
  expect([...balancer.counts.values()].every((count) => count > 0)).toBe(true);
  expect(balancer.counts.size).toBe(2);
});

test("a viewer sees the screen of a Windows without knowing any password", async () => {
  const windows = await world.createServer("win-1", undefined, { image: "windows-2022", package: "l" });
  await world.untilDone(windows.job.id);
  const ticket = await ticketOf(windows.server.id);
  expect(ticket.type).toBe("vnc");
  const viewer = new Viewer(ticket);
  await new Promise((resolve) => viewer.socket.once("open", resolve));
  const screen = await openRfb(viewer.stream, null);
  expect(screen).toEqual({ width: 800, height: 600, name: "QEMU (win-1)" });
  const first = await nextUpdate(viewer.stream, screen, false);
  expect(first.pixels.length).toBe(800 * 600 * 4);
  viewer.socket.close();
});

test("a ticket opens once", async () => {
  const ticket = await ticketOf(linux.server.id);
  const first = await opened(new Viewer(ticket));
  const status = await new Promise((resolve) => {
    const { socket } = new Viewer(ticket, second.origin);
    socket.once("unexpected-response", (_request, response) => resolve(response.statusCode));
    socket.once("open", () => resolve("open"));
  });
  expect(status).toBe(401);
  first.socket.close();
  await first.end();
});

test("a reader that stops makes the machine wait, and nobody's memory grows", async () => {
  const viewer = await opened(new Viewer(await ticketOf(linux.server.id)));
  await viewer.line("", /login: |\$ $/);
  if (!/\$ $/.test(viewer.bytes.toString())) {
    await viewer.line("ubuntu", /Password: $/);
    await viewer.line(linux.console_password ?? "", /\$ $/);
  }
  viewer.keepsTail = true;
  viewer.socket.send(Buffer.from("yes\r"));
  await viewer.until(() => viewer.bytes.toString().endsWith("y\r\ny\r\n"));
  viewer.socket.pause();
  const processes = [world.api, second.process, agent];
  const before = processes.map(residentMb);
  await delay(6_000);
  const grownMb = processes.map((each, index) => residentMb(each) - (before[index] ?? 0));
  for (const grown of grownMb) expect(grown, grownMb.join()).toBeLessThan(60);
  viewer.socket.resume();
  viewer.socket.send(Buffer.from("\x03"));
  await viewer.until(() =>
    /\^C\r\n.*\$ $/.test(viewer.bytes.toString("utf8", Math.max(0, viewer.bytes.length - 400))),
  );
  viewer.socket.close();
  await viewer.end();
}, 60_000);

test("an agent that is killed ends its sessions, and the next agent opens new ones", async () => {
  const viewer = await opened(new Viewer(await ticketOf(linux.server.id)));
  await agent.end("SIGKILL");
  expect(await viewer.end()).toBe("region_lost");
  agent = world.startAgent();
  const again = await opened(new Viewer(await ticketOf(linux.server.id)));
  await again.line("", /login: |\$ $/);
  again.socket.close();
  await again.end();
});

test("a process that stops sends its viewers elsewhere", async () => {
  const viewer = await opened(new Viewer(await ticketOf(linux.server.id), second.origin));
  const stopping = second.process.end("SIGTERM");
  expect(await viewer.end()).toBe("restarting");
  await stopping;
  origins.splice(1, 1);
  const again = await opened(new Viewer(await ticketOf(linux.server.id)));
  again.socket.close();
  await again.end();
});

test("a power-off from inside ends the session, and so does the deletion of the server", async () => {
  const doomed = await world.createServer("doomed");
  await world.untilDone(doomed.job.id);
  const viewer = await opened(new Viewer(await ticketOf(doomed.server.id)));
  await world.organisation.DELETE("/servers/{server_id}", {
    params: { path: { server_id: doomed.server.id } },
  });
  expect(["server_deleted", "server_off"]).toContain(await viewer.end());
  const last = await opened(new Viewer(await ticketOf(linux.server.id)));
  await last.line("", /login: $|\$ $/);
  if (!/\$ $/.test(last.bytes.toString())) {
    await last.line("ubuntu", /Password: $/);
    await last.line(linux.console_password ?? "", /\$ $/);
  }
  last.socket.send(Buffer.from("poweroff\r"));
  expect(await last.end()).toBe("server_off");
});

function residentMb(process: TestProcess): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${process.pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
}
