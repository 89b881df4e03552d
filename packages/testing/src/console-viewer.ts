import type { Schemas } from "@kule/contract/schemas";
import type { ByteStream } from "@kule/lab/console/rfb-client";
import { WebSocket } from "ws";

/** A browser at a console: it opens the ticket's websocket and stores what it receives. */
export class ConsoleViewer {
  readonly socket: WebSocket;
  bytes = Buffer.alloc(0);
  reason: string | null = null;
  /** Stores only the last bytes: a flood would fill this process, which is also the load balancer. */
  keepsTail = false;
  #taken = 0;
  readonly #outputs: () => string;
  #wake: () => void = () => {};

  /** `outputs` is for the message of a failure. */
  constructor(ticket: Schemas["ConsoleTicket"], origin: string, outputs: () => string) {
    this.#outputs = outputs;
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
          `closed as ${this.reason} after ${this.bytes.toString().slice(-500)}\n${this.#outputs()}`,
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
