// Consoles of VMs. A websocket must be opened within ten seconds of the call that created its listener, and
// at the same endpoint, because the listener is on that host.

import type { WebSocket } from "ws";
import { type ConsoleStream, consoleStream, HandshakeReader } from "./console-stream.ts";
import { ProxmoxBadRequest, ProxmoxUnsupported } from "./errors.ts";
import type { Owner } from "./hypervisor.ts";
import { parseMarker } from "./marker.ts";
import { systemRuntime, type Timers } from "./runtime.ts";
import { isOwner, normalConfig, type Region, rowOf } from "./vm-observation.ts";
import { answerVncChallenge } from "./vnc-auth.ts";

/** Why there is no console. */
export class ConsoleUnavailable extends Error {
  /**
   * `serial_unsupported`: this Proxmox VE lets no API token into a text terminal, or the VM has none; its
   * screen can still be used.
   */
  readonly code: "server_off" | "serial_unsupported" | "hypervisor_failed";
  constructor(code: ConsoleUnavailable["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ConsoleUnavailable";
    this.code = code;
  }
}

/** The answer of both calls; the schema has no types for it. */
type Proxy = {
  readonly user: string;
  readonly ticket: string;
  readonly port: number | string;
  readonly password?: string;
};

const HANDSHAKE_MILLISECONDS = 10_000;

/** Opens consoles of one region's VMs. Checks whose a VM is, and changes nothing. */
export class ProxmoxConsoles {
  readonly #region: Region;
  readonly #timers: Timers;
  /** Whether termproxy accepts tokens; queried once, because only an upgrade of the nodes changes it. */
  #takesTokens: Promise<boolean> | null = null;

  constructor(region: Region, timers: Timers = systemRuntime) {
    this.#region = region;
    this.#timers = timers;
  }

  /** Throws ConsoleUnavailable. */
  async open(
    type: "serial" | "vnc",
    vmid: number,
    owner: Owner,
    signal: AbortSignal,
  ): Promise<ConsoleStream> {
    const late = new AbortController();
    const cancel = this.#timers.after(HANDSHAKE_MILLISECONDS, () =>
      late.abort(new Error("the console did not open in time")),
    );
    const limited = AbortSignal.any([signal, late.signal]);
    try {
      const { node, hasSerial } = await this.#look(vmid, owner, limited);
      if (type === "serial" && !hasSerial)
        throw new ConsoleUnavailable("serial_unsupported", `VM ${vmid} has no serial line`);
      return await (type === "serial"
        ? this.#terminal(node, vmid, limited)
        : this.#screen(node, vmid, limited));
    } catch (error) {
      if (error instanceof ConsoleUnavailable) throw error;
      const message = error instanceof Error ? error.message : String(error);
      throw new ConsoleUnavailable("hypervisor_failed", message, { cause: error });
    } finally {
      cancel();
    }
  }

  /** Where the owner's VM runs. A lock does not matter: nothing is changed. */
  async #look(
    vmid: number,
    owner: Owner,
    signal: AbortSignal,
  ): Promise<{ node: string; hasSerial: boolean }> {
    const { client } = this.#region;
    const row = rowOf(await client.call("GET /cluster/resources", { type: "vm" }, { signal }), vmid);
    if (!row) throw new ConsoleUnavailable("server_off", `no node has VM ${vmid}`);
    const { node } = row;
    const [config, status] = await Promise.all([
      client.call("GET /nodes/{node}/qemu/{vmid}/config", { node, vmid }, { signal }),
      client.call("GET /nodes/{node}/qemu/{vmid}/status/current", { node, vmid }, { signal }),
    ]);
    const seen = normalConfig(config);
    const marker = parseMarker(seen.description);
    if (marker === null || !isOwner(marker, owner))
      throw new ConsoleUnavailable("hypervisor_failed", `VM ${vmid} is not marked as ${owner.serverId}`);
    if (status.status !== "running") throw new ConsoleUnavailable("server_off", `VM ${vmid} is not running`);
    return { node, hasSerial: seen.serial0 === "socket" };
  }

  async #terminal(node: string, vmid: number, signal: AbortSignal): Promise<ConsoleStream> {
    this.#takesTokens ??= this.#probe(signal).catch((error: unknown) => {
      this.#takesTokens = null;
      throw error;
    });
    if (!(await this.#takesTokens))
      throw new ConsoleUnavailable("serial_unsupported", "this Proxmox VE lets no token into a terminal");
    const { client } = this.#region;
    let endpoint: URL | null = null;
    const answeredBy = (url: URL) => {
      endpoint = url;
    };
    const proxy = (await client.call(
      "POST /nodes/{node}/qemu/{vmid}/termproxy",
      { node, vmid, serial: "serial0" },
      { signal, answeredBy },
    )) as Proxy;
    const socket = await this.#connect(endpoint, node, vmid, proxy, signal);
    const reader = new HandshakeReader(socket);
    socket.send(`${proxy.user}:${proxy.ticket}\n`);
    const answer = await within(signal, socket, reader.read(2));
    if (answer?.toString("latin1") !== "OK") {
      socket.terminate();
      throw new ConsoleUnavailable("serial_unsupported", "termproxy did not take the ticket");
    }
    return consoleStream(
      socket,
      reader.rest(),
      {
        frame: (bytes) => Buffer.concat([Buffer.from(`0:${bytes.length}:`), bytes]),
        resize: (columns, rows) => Buffer.from(`1:${columns}:${rows}:`),
        keepAlive: Buffer.from("2"),
      },
      this.#timers,
    );
  }

  /** A call without its parameters is refused with 400 where it exists, and with 501 where it does not. */
  async #probe(signal: AbortSignal): Promise<boolean> {
    try {
      await this.#region.client.call("POST /access/vncticket", {}, { signal });
      return true;
    } catch (error) {
      if (error instanceof ProxmoxBadRequest) return true;
      if (error instanceof ProxmoxUnsupported) return false;
      throw error;
    }
  }

  /** The screen, signed in: the next bytes are the viewer's ClientInit. */
  async #screen(node: string, vmid: number, signal: AbortSignal): Promise<ConsoleStream> {
    let endpoint: URL | null = null;
    const answeredBy = (url: URL) => {
      endpoint = url;
    };
    const parameters = { node, vmid, websocket: true, "generate-password": true };
    const path = "POST /nodes/{node}/qemu/{vmid}/vncproxy";
    const proxy = (await this.#region.client.call(path, parameters, { signal, answeredBy })) as Proxy;
    const socket = await this.#connect(endpoint, node, vmid, proxy, signal);
    const reader = new HandshakeReader(socket);
    const password = proxy.password ?? proxy.ticket.slice(0, 8);
    const why = await within(signal, socket, signIn(socket, reader, password));
    if (why !== null) {
      socket.terminate();
      throw new ConsoleUnavailable("hypervisor_failed", why);
    }
    return consoleStream(
      socket,
      reader.rest(),
      {
        frame: (bytes) => bytes,
        resize: () => null,
        keepAlive: null,
      },
      this.#timers,
    );
  }

  #connect(
    endpoint: URL | null,
    node: string,
    vmid: number,
    proxy: Proxy,
    signal: AbortSignal,
  ): Promise<WebSocket> {
    if (endpoint === null) throw new Error("no endpoint answered");
    const path = `/nodes/${encodeURIComponent(node)}/qemu/${vmid}/vncwebsocket`;
    const query = { port: String(proxy.port), vncticket: proxy.ticket };
    return this.#region.client.webSocket(endpoint, path, query, signal);
  }
}

/**
 * The result of a handshake; after its time limit the connection is closed, and the handshake ends with it.
 */
async function within<T>(signal: AbortSignal, socket: WebSocket, work: Promise<T>): Promise<T> {
  const end = () => socket.terminate();
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  try {
    return await work;
  } finally {
    signal.removeEventListener("abort", end);
  }
}

/** Null when it went well, otherwise what went wrong. */
async function signIn(socket: WebSocket, reader: HandshakeReader, password: string): Promise<string | null> {
  const version = (await reader.read(12))?.toString("latin1");
  if (!version?.startsWith("RFB 003.00")) return "it is no RFB server";
  socket.send(Buffer.from("RFB 003.008\n"));
  const count = (await reader.read(1))?.[0] ?? 0;
  const types = await reader.read(count);
  const type = [2, 1].find((each) => types?.includes(each));
  if (count === 0 || type === undefined) return "it offers no security type that we know";
  socket.send(Buffer.from([type]));
  if (type === 2) {
    const challenge = await reader.read(16);
    if (challenge === null) return "it closed the connection";
    socket.send(answerVncChallenge(password, challenge));
  }
  const result = await reader.read(4);
  return result?.readUInt32BE(0) === 0 ? null : "it did not take the password";
}
