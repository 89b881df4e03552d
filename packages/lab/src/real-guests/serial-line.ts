import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { ConsoleClient } from "../console/console-client.ts";
import type { SerialPort } from "../console/serial-port.ts";
import type { Holder } from "../wires/holder.ts";
import { machineFolder, SERIAL_LINE } from "./guest-scripts.ts";

/** Input of a client that waits for the line, up to this many bytes. */
const TYPED_AHEAD = 1024;

/**
 * The serial port of a real guest: one socket of QEMU with a terminal at the guest's end. One client at a
 * time; output without a client is lost.
 */
export class SerialLine implements SerialPort {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #clients: ConsoleClient[] = [];
  readonly #early = new Map<ConsoleClient, Buffer>();
  readonly #ended: Promise<void>;

  private constructor(process: ChildProcessWithoutNullStreams) {
    this.#process = process;
    this.#ended = new Promise((resolve) => process.once("close", () => resolve()));
    process.stdin.on("error", () => {});
    process.stdout.on("data", (bytes: Buffer) => this.#output(bytes));
  }

  /** @throws Error when it cannot be made */
  static async open(holder: Holder, vmid: number): Promise<SerialLine> {
    const [program = "", ...words] = [...holder.inside(), "sh", "-ec", SERIAL_LINE];
    const child = spawn(program, words, {
      env: { PATH: process.env.PATH, LC_ALL: "C", FOLDER: machineFolder(vmid) },
      cwd: "/",
    });
    let said = "";
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", () => reject(new Error(`no serial line: ${said.trim()}`)));
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        if (said.includes("ready\n")) resolve();
      });
    });
    child.removeAllListeners("exit");
    return new SerialLine(child);
  }

  attach(client: ConsoleClient): void {
    this.#clients.push(client);
  }

  detach(client: ConsoleClient): void {
    const at = this.#clients.indexOf(client);
    if (at >= 0) this.#clients.splice(at, 1);
    this.#early.delete(client);
    this.#process.stdout.resume();
    const [next] = this.#clients;
    const typed = next === undefined ? undefined : this.#early.get(next);
    if (next === undefined || typed === undefined) return;
    this.#early.delete(next);
    this.input(next, typed);
  }

  input(client: ConsoleClient, bytes: Uint8Array): void {
    if (client === this.#clients[0]) {
      this.#process.stdin.write(bytes);
      return;
    }
    const typed = Buffer.concat([this.#early.get(client) ?? Buffer.alloc(0), bytes]);
    this.#early.set(client, typed.subarray(0, TYPED_AHEAD));
  }

  /** The guest boots again at the same line. */
  boot(): void {}

  /** The machine is off. */
  end(): void {
    for (const client of this.#clients.splice(0)) client.close();
    this.#early.clear();
    this.#process.stdin.end();
    this.#process.stdout.resume();
  }

  async closed(): Promise<void> {
    this.end();
    await this.#ended;
  }

  #output(bytes: Buffer): void {
    const [client] = this.#clients;
    if (client === undefined) return;
    client.send(bytes);
    if (client.isReady) return;
    // A client that does not read stops the line, as flow control does.
    this.#process.stdout.pause();
    client.onReady(() => this.#process.stdout.resume());
  }
}
