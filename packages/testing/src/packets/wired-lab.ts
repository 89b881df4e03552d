import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, type RawAnswer, run } from "@kule/lab/api-client";
import { type Lab, startLab } from "@kule/lab/lab";
import type { Internet } from "@kule/lab/wires/internet";
import type { Wires } from "@kule/lab/wires/wires";
import { WebSocket } from "ws";
import { PacketMachine } from "./packet-machine.ts";

/** A network device of a machine to be created: `net0` and `ipconfig0` in the syntax of Proxmox VE. */
export type Device = { readonly net: string; readonly ip: string };

type Form = Readonly<Record<string, string | number>>;

/** A lab whose machines have a network, and the few calls that a driver would make to have one there. */
export class WiredLab {
  readonly lab: Lab;
  readonly folder: string;
  readonly #open: PacketMachine[] = [];
  readonly #sockets: WebSocket[] = [];

  private constructor(lab: Lab, folder: string) {
    this.lab = lab;
    this.folder = folder;
  }

  static async start(internet: Internet): Promise<WiredLab> {
    const folder = mkdtempSync(join(tmpdir(), "kule-wires-"));
    return new WiredLab(await startLab({ dataDir: folder, wires: internet }), folder);
  }

  get wires(): Wires {
    if (this.lab.wires === undefined) throw new Error("this lab has no wires");
    return this.lab.wires;
  }

  /** As the operator; returns Proxmox VE's answer. */
  async call(line: string, form?: Form): Promise<RawAnswer> {
    return await call(this.lab, line, {
      as: "operator",
      ...(form === undefined ? {} : { form: { ...form } }),
    });
  }

  /** A call that must do something. */
  async change(line: string, form?: Form): Promise<void> {
    const answer = await this.call(line, form);
    if (answer.status !== 200) throw new Error(`${line}: ${answer.status} ${answer.reason} ${answer.text}`);
    if (typeof answer.data === "string" && answer.data.startsWith("UPID:")) await this.lab.control.settled();
    await this.settled();
  }

  /** Cloned, filtered, configured, started; it answers packets. Every device lets its own addresses out alone. */
  async running(vmid: number, devices: readonly Device[], options: Form = {}): Promise<PacketMachine> {
    const cloned = await run(this.lab, "POST /nodes/pve1/qemu/9000/clone", {
      as: "operator",
      form: { newid: vmid },
    });
    if (cloned !== "OK") throw new Error(`the clone of ${vmid}: ${cloned}`);
    for (const [index, { ip }] of devices.entries()) {
      const name = `ipfilter-net${index}`;
      await this.change(`POST ${vm(vmid)}/firewall/ipset`, { name });
      for (const [, cidr = ""] of ip.matchAll(/ip6?=([^/,]+)/g))
        await this.change(`POST ${vm(vmid)}/firewall/ipset/${name}`, { cidr });
    }
    await this.change(`PUT ${vm(vmid)}/firewall/options`, {
      enable: 1,
      policy_in: "ACCEPT",
      ipfilter: 1,
      dhcp: 0,
      ...options,
    });
    const settings = devices.flatMap(({ net, ip }, index) => [
      [`net${index}`, net],
      [`ipconfig${index}`, ip],
    ]);
    await this.change(`PUT ${vm(vmid)}/config`, Object.fromEntries(settings));
    await this.change(`POST ${vm(vmid)}/status/start`);
    return this.enter(this.wires.inMachine(vmid));
  }

  /** A machine beyond the region's public networks. */
  internet(): Promise<PacketMachine> {
    return this.enter(this.wires.inInternet());
  }

  async enter(words: readonly string[]): Promise<PacketMachine> {
    const machine = new PacketMachine(words);
    this.#open.push(machine);
    await machine.start();
    return machine;
  }

  /** The output of a command inside a machine. */
  inside(vmid: number, ...words: readonly string[]): string {
    const [program = "", ...more] = [...this.wires.inMachine(vmid), ...words];
    return execFileSync(program, more, { encoding: "utf8" });
  }

  /**
   * A person who is signed in at a machine's serial line, perhaps since before: types the input, returns the
   * output when `until` matches.
   */
  async serialLine(
    vmid: number,
    account: { readonly user: string; readonly password: string },
  ): Promise<(typed: string, until: RegExp) => Promise<string>> {
    const { user, ticket, port } = (await this.call(`POST ${vm(vmid)}/termproxy`)).data as Record<
      string,
      string
    >;
    const query = new URLSearchParams({ port: String(port), vncticket: ticket ?? "" });
    const url = `${this.lab.url.replace("https", "wss")}/api2/json${vm(vmid)}/vncwebsocket?${query}`;
    const authorization = `PVEAPIToken=${this.lab.operatorTokenId}=${this.lab.operatorTokenSecret}`;
    const socket = new WebSocket(url, "binary", { rejectUnauthorized: false, headers: { authorization } });
    this.#sockets.push(socket);
    let said = "";
    let wake = (): void => {};
    socket.on("message", (bytes) => {
      said += String(bytes);
      wake();
    });
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    const until = async (pattern: RegExp, from: number) => {
      while (!pattern.test(said.slice(from)))
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      return said.slice(from);
    };
    const type = (typed: string, pattern: RegExp) => {
      const from = said.length;
      socket.send(`0:${Buffer.byteLength(typed)}:${typed}`);
      return until(pattern, from);
    };
    socket.send(`${user}:${ticket}\n`);
    await until(/^OK/, 0);
    if ((await type("\r", /login: $|\$ $/)).endsWith("$ ")) return type;
    await type(`${account.user}\r`, /Password: $/);
    await type(`${account.password}\r`, /\$ $/);
    return type;
  }

  /** The firewall's run follows one turn of the event loop after the call that causes it. */
  async settled(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 5));
    await this.wires.settled();
  }

  /** The machines stay; the processes in them end. */
  async leaveMachines(): Promise<void> {
    for (const socket of this.#sockets.splice(0)) socket.terminate();
    await Promise.all(this.#open.splice(0).map((machine) => machine.end()));
  }

  async end(): Promise<void> {
    await this.leaveMachines();
    await this.lab.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Where a machine of the first node is in the API. */
export const vm = (vmid: number): string => `/nodes/pve1/qemu/${vmid}`;
