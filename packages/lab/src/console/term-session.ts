import type { Region } from "../region.ts";
import type { ConsoleClient } from "./console-client.ts";
import type { ConsoleListener } from "./console-listeners.ts";
import { guestOf } from "./guests.ts";
import { hasPasswordInTicket, verifyVncTicket } from "./vnc-ticket.ts";

const LONGEST_FIRST_LINE = 1024;

/**
 * termproxy's own protocol: a line with user and ticket, "OK", and then raw bytes to the client and framed
 * ones from it. An invalid frame ends the connection.
 */
export class TermSession {
  readonly #region: Region;
  readonly #listener: ConsoleListener;
  readonly #client: ConsoleClient;
  #waiting = Buffer.alloc(0);
  #isOpen = false;
  #end: () => void = () => undefined;

  constructor(region: Region, listener: ConsoleListener, client: ConsoleClient) {
    this.#region = region;
    this.#listener = listener;
    this.#client = client;
  }

  receive(bytes: Uint8Array): void {
    this.#waiting = Buffer.concat([this.#waiting, bytes]);
    if (!this.#isOpen && !this.#admit()) return;
    for (;;) {
      const used = this.#frame(this.#waiting);
      if (used === 0) return;
      this.#waiting = this.#waiting.subarray(used);
    }
  }

  close(): void {
    this.#end();
  }

  #admit(): boolean {
    const end = this.#waiting.indexOf(0x0a);
    if (end < 0) {
      if (this.#waiting.length > LONGEST_FIRST_LINE) this.#client.close();
      return false;
    }
    const line = this.#waiting.toString("utf8", 0, end);
    this.#waiting = this.#waiting.subarray(end + 1);
    const { authUser, vmid, port } = this.#listener;
    const colon = line.indexOf(":");
    // Before 2026-04 termproxy logged in at /access/ticket, which no token can.
    const knowsTokens = hasPasswordInTicket(this.#region) || !authUser.includes("!");
    try {
      if (!knowsTokens || colon < 0 || line.slice(0, colon) !== authUser) throw new Error("no such user");
      verifyVncTicket(this.#region, line.slice(colon + 1), { authUser, vmid, port });
    } catch {
      this.#client.close();
      return false;
    }
    this.#isOpen = true;
    this.#client.send(Buffer.from("OK"));
    this.#connect();
    return true;
  }

  #connect(): void {
    const { vmid } = this.#listener;
    const guest = guestOf(this.#region, vmid);
    const serial = guest?.serial;
    if (serial == null) {
      this.#client.send(
        Buffer.from(
          guest === undefined ? `VM ${vmid} not running\r\n` : "unable to find a serial interface\r\n",
        ),
      );
      this.#client.close();
      return;
    }
    this.#client.send(
      Buffer.from(
        `starting serial terminal on interface ${this.#listener.serial} (press Ctrl+O to exit)\r\n`,
      ),
    );
    serial.attach(this.#client);
    this.#end = () => serial.detach(this.#client);
  }

  #frame(bytes: Buffer): number {
    if (bytes.length === 0) return 0;
    const type = String.fromCharCode(bytes[0] ?? 0);
    if (type === "2") return 1;
    const head = /^(?:0:(\d{1,6}):|1:(\d{1,5}):(\d{1,5}):)/.exec(bytes.toString("latin1", 0, 16));
    if (head === null) {
      // Perhaps only the beginning has arrived; otherwise it is no frame of termproxy.
      if (!/^(?:0(?::\d{0,6})?|1(?::\d{0,5}(?::\d{0,5})?)?)$/.test(bytes.toString("latin1")))
        this.#client.close();
      return 0;
    }
    if (head[1] === undefined) return head[0].length;
    const length = head[0].length + Number(head[1]);
    if (bytes.length < length) return 0;
    guestOf(this.#region, this.#listener.vmid)?.serial?.input(
      this.#client,
      bytes.subarray(head[0].length, length),
    );
    return length;
  }
}
