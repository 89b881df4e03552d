import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { call, type RawAnswer, run } from "@kule/lab/api-client";
import { type Lab, startLab } from "@kule/lab/lab";
import type { Internet } from "@kule/lab/wires/internet";
import { WebSocket } from "ws";
import { realGuestRoots } from "./real-guests-part.ts";

/** The number of the template whose guests really boot. */
const TEMPLATE = 9002;
/** A boot on a machine that is busy with other suites. */
export const BOOT_MS = 120_000;

const internet: Internet = {
  networks: [{ bridge: "vmbr0", vlan: null, addresses: ["203.0.113.1/24"] }],
  beyond: [],
};

export const vm = (vmid: number): string => `/nodes/pve1/qemu/${vmid}`;

type Form = Readonly<Record<string, string | number>>;
export type Ran = { readonly exitcode: number; readonly out: string };

/** A lab with real guests, and the few calls that a driver makes to have one. */
export class RealLab {
  readonly lab: Lab;
  readonly folder: string;

  private constructor(lab: Lab, folder: string) {
    this.lab = lab;
    this.folder = folder;
  }

  /**
   * @param image a recipe of infra/images for the guests, by default that of most suites
   * @param more of the internet besides the network of vmbr0
   */
  static async start(image?: string, more: Partial<Internet> = {}): Promise<RealLab> {
    const folder = mkdtempSync(join(tmpdir(), "kule-real-"));
    return new RealLab(
      await startLab({
        dataDir: folder,
        wires: { ...internet, ...more, networks: [...internet.networks, ...(more.networks ?? [])] },
        realGuests: await realGuestRoots(image),
      }),
      folder,
    );
  }

  call(line: string, form?: Form): Promise<RawAnswer> {
    return call(this.lab, line, { as: "operator", ...(form === undefined ? {} : { form: { ...form } }) });
  }

  /** A call whose task must succeed. */
  async change(line: string, form: Form = {}): Promise<void> {
    const end = await run(this.lab, line, { as: "operator", form: { ...form } });
    if (end !== "OK") throw new Error(`${line}: ${end}`);
  }

  /** Cloned, configured and started; with `password` for the account "kule". */
  async create(vmid: number, config: Form = {}): Promise<void> {
    await this.change(`POST /nodes/pve1/qemu/${TEMPLATE}/clone`, { newid: vmid, name: `web-${vmid}` });
    await this.change(`POST ${vm(vmid)}/config`, { ciuser: "kule", ciupgrade: 0, memory: 1024, ...config });
    await this.change(`POST ${vm(vmid)}/status/start`);
  }

  /** Until its guest agent answers, and cloud-init has done its work. */
  async booted(vmid: number): Promise<void> {
    const deadline = performance.now() + BOOT_MS;
    for (;;) {
      const { status, reason } = await this.call(`POST ${vm(vmid)}/agent/ping`, {});
      if (status === 200) break;
      if (performance.now() > deadline) throw new Error(`VM ${vmid} does not boot: ${reason}`);
      await delay(200);
    }
    await this.shell(vmid, "cloud-init status --wait >/dev/null");
  }

  /** A command line of the guest's own shell, through the guest agent. */
  async shell(vmid: number, line: string): Promise<Ran> {
    const begun = await call(this.lab, `POST ${vm(vmid)}/agent/exec`, {
      as: "operator",
      json: { command: ["/bin/sh", "-c", line] },
    });
    if (begun.status !== 200) throw new Error(`${line}: ${begun.reason}`);
    const deadline = performance.now() + BOOT_MS;
    for (;;) {
      const { status, data, reason } = await this.call(
        `GET ${vm(vmid)}/agent/exec-status?pid=${begun.data.pid}`,
      );
      // The guest agent of a machine that is busy with other suites.
      if (status === 596 && performance.now() < deadline) continue;
      if (data == null) throw new Error(`${line}: ${reason}`);
      if (data.exited === 1)
        return {
          exitcode: data.exitcode ?? -1,
          out: `${data["out-data"] ?? ""}${data["err-data"] ?? ""}`.trim(),
        };
      await delay(50);
    }
  }

  /** What the lab says about the VM's power, once it is that. */
  async until(vmid: number, holds: (running: boolean, bootedAt: number) => boolean): Promise<void> {
    const deadline = performance.now() + BOOT_MS;
    for (;;) {
      const process = this.lab.control.vm(vmid)?.process ?? null;
      if (holds(process !== null, process?.guestBootAt ?? 0)) return;
      if (performance.now() > deadline) throw new Error(`VM ${vmid}: ${JSON.stringify(process)}`);
      await delay(50);
    }
  }

  /** Somebody at the serial line: types, and waits for what it leads to. */
  async serialLine(vmid: number): Promise<SerialViewer> {
    const { user, ticket, port } = (await this.call(`POST ${vm(vmid)}/termproxy`, {})).data;
    const query = new URLSearchParams({ port: String(port), vncticket: ticket });
    const url = `${this.lab.url.replace("https", "wss")}/api2/json${vm(vmid)}/vncwebsocket?${query}`;
    const authorization = `PVEAPIToken=${this.lab.operatorTokenId}=${this.lab.operatorTokenSecret}`;
    const socket = new WebSocket(url, "binary", { rejectUnauthorized: false, headers: { authorization } });
    const viewer = new SerialViewer(socket);
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    socket.send(`${user}:${ticket}\n`);
    await viewer.until(/OK/);
    return viewer;
  }

  async end(): Promise<void> {
    await this.lab.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export class SerialViewer {
  readonly #socket: WebSocket;
  #said = "";
  #seen = 0;
  #wake: () => void = () => {};
  isClosed = false;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (bytes) => {
      this.#said += String(bytes);
      this.#wake();
    });
    socket.on("close", () => {
      this.isClosed = true;
      this.#wake();
    });
  }

  /** The output since the last call, when it matches. */
  async until(pattern: RegExp): Promise<string> {
    for (;;) {
      const said = this.#said.slice(this.#seen);
      if (pattern.test(said)) {
        this.#seen = this.#said.length;
        return said;
      }
      if (this.isClosed) throw new Error(`the line was closed after ${JSON.stringify(said.slice(-500))}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  type(text: string): void {
    this.#socket.send(`0:${Buffer.byteLength(text)}:${text}`);
  }

  async line(text: string, until: RegExp): Promise<string> {
    this.type(`${text}\r`);
    return await this.until(until);
  }

  close(): void {
    this.#socket.terminate();
  }
}
