import { systemSecrets } from "../runtime.ts";
import type { ConsoleClient } from "./console-client.ts";
import type { Framebuffer, Rectangle } from "./framebuffer.ts";
import { decodeFormat, encodeFormat, type PixelFormat, rawPixels, SERVER_FORMAT } from "./pixel-format.ts";
import { vncResponseFits } from "./vnc-auth.ts";

/** A screen: a picture that accepts keys and a pointer. */
export interface Screen {
  readonly frame: Framebuffer;
  readonly name: string;
  /** `keysym` as X11 counts them. */
  key(keysym: number, down: boolean): void;
  pointer(x: number, y: number, buttons: number): void;
  /** Text of the client's clipboard. */
  paste(text: string): void;
}

/** Longer ones would only fill the memory; a real server cuts them off as well. */
const CLIPBOARD_BYTES = 256 * 1024;

type Stage = "version" | "security" | "response" | "init" | "ready" | "over";

/**
 * RFB 3.8 (RFC 6143) as QEMU serves it with a password: one client, raw encoding, updates only on request
 * and, for an incremental request, only once something has changed.
 */
export class RfbServer {
  readonly #client: ConsoleClient;
  readonly #screen: Screen;
  readonly #password: string;
  readonly #challenge = systemSecrets.bytes(16);
  readonly #unwatch: () => void;
  #stage: Stage = "version";
  #waiting = Buffer.alloc(0);
  #format: PixelFormat = SERVER_FORMAT;
  #wanted: { readonly area: Rectangle; readonly since: number } | null = null;
  #seen = 0;
  #isDue = false;

  constructor(client: ConsoleClient, screen: Screen, password: string) {
    this.#client = client;
    this.#screen = screen;
    this.#password = password;
    this.#unwatch = screen.frame.watch(() => this.#updateSoon());
    client.onReady(() => this.#update());
    client.send(Buffer.from("RFB 003.008\n"));
  }

  /** The next bytes from the client; parts of messages are buffered. */
  receive(bytes: Uint8Array): void {
    if (this.#stage === "over") return;
    this.#waiting = Buffer.concat([this.#waiting, bytes]);
    for (;;) {
      const used = this.#step(this.#waiting);
      if (used === 0) return;
      this.#waiting = this.#waiting.subarray(used);
    }
  }

  close(): void {
    this.#stage = "over";
    this.#unwatch();
  }

  /** Handles one message at the beginning of `bytes`; 0 when it is not all there. */
  #step(bytes: Buffer): number {
    switch (this.#stage) {
      case "version": {
        if (bytes.length < 12) return 0;
        if (bytes.toString("latin1", 0, 12) !== "RFB 003.008\n") return this.#refuse();
        this.#client.send(Buffer.from([1, 2]));
        this.#stage = "security";
        return 12;
      }
      case "security": {
        if (bytes.length < 1) return 0;
        if (bytes[0] !== 2) return this.#refuse();
        this.#client.send(this.#challenge);
        this.#stage = "response";
        return 1;
      }
      case "response": {
        if (bytes.length < 16) return 0;
        if (!vncResponseFits(this.#password, this.#challenge, bytes.subarray(0, 16))) {
          const reason = Buffer.from("Authentication failed");
          const head = Buffer.alloc(8);
          head.writeUInt32BE(1, 0);
          head.writeUInt32BE(reason.length, 4);
          this.#client.send(Buffer.concat([head, reason]));
          return this.#refuse();
        }
        this.#client.send(Buffer.alloc(4));
        this.#stage = "init";
        return 16;
      }
      case "init": {
        if (bytes.length < 1) return 0;
        this.#sendInit();
        this.#stage = "ready";
        return 1;
      }
      case "ready":
        return this.#message(bytes);
      default:
        return 0;
    }
  }

  #refuse(): number {
    this.close();
    this.#client.close();
    return 0;
  }

  #sendInit(): void {
    const { frame, name } = this.#screen;
    const title = Buffer.from(name);
    const size = Buffer.alloc(4);
    size.writeUInt16BE(frame.width, 0);
    size.writeUInt16BE(frame.height, 2);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(title.length, 0);
    this.#client.send(Buffer.concat([size, encodeFormat(SERVER_FORMAT), length, title]));
  }

  #message(bytes: Buffer): number {
    const has = (length: number): boolean => bytes.length >= length;
    switch (bytes[0]) {
      case undefined:
        return 0;
      case 0: {
        if (!has(20)) return 0;
        const format = decodeFormat(bytes.subarray(4, 20));
        if (format === null) return this.#refuse();
        this.#format = format;
        return 20;
      }
      case 2: {
        if (!has(4)) return 0;
        // The encodings a client takes: raw is one that every client must.
        const length = 4 + 4 * bytes.readUInt16BE(2);
        return has(length) ? length : 0;
      }
      case 3: {
        if (!has(10)) return 0;
        this.#request(bytes);
        return 10;
      }
      case 4: {
        if (!has(8)) return 0;
        this.#screen.key(bytes.readUInt32BE(4), bytes[1] !== 0);
        return 8;
      }
      case 5: {
        if (!has(6)) return 0;
        this.#screen.pointer(bytes.readUInt16BE(2), bytes.readUInt16BE(4), bytes.readUInt8(1));
        return 6;
      }
      case 6: {
        if (!has(8)) return 0;
        // Negative lengths are the extended clipboard, which was not announced.
        const length = bytes.readInt32BE(4);
        if (length < 0 || length > CLIPBOARD_BYTES) return this.#refuse();
        if (!has(8 + length)) return 0;
        this.#screen.paste(bytes.toString("latin1", 8, 8 + length));
        return 8 + length;
      }
      default:
        // QEMU ends the connection on an unknown message; it could not find the next one.
        return this.#refuse();
    }
  }

  #request(bytes: Buffer): void {
    const { frame } = this.#screen;
    const x = Math.min(bytes.readUInt16BE(2), frame.width);
    const y = Math.min(bytes.readUInt16BE(4), frame.height);
    const width = Math.min(bytes.readUInt16BE(6), frame.width - x);
    const height = Math.min(bytes.readUInt16BE(8), frame.height - y);
    this.#wanted = { area: { x, y, width, height }, since: bytes[1] === 0 ? -1 : this.#seen };
    this.#update();
  }

  /** Once for everything that is drawn together. */
  #updateSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.#update();
    });
  }

  #update(): void {
    const { frame } = this.#screen;
    if (this.#wanted === null || this.#stage !== "ready" || !this.#client.isReady) return;
    const { area, since } = this.#wanted;
    const changed = since < 0 ? area : frame.changedSince(since);
    if (changed === null) return;
    const left = Math.max(changed.x, area.x);
    const top = Math.max(changed.y, area.y);
    const width = Math.min(changed.x + changed.width, area.x + area.width) - left;
    const height = Math.min(changed.y + changed.height, area.y + area.height) - top;
    if (width <= 0 || height <= 0) return;
    this.#wanted = null;
    this.#seen = frame.version;
    const head = Buffer.alloc(16);
    head.writeUInt16BE(1, 2);
    head.writeUInt16BE(left, 4);
    head.writeUInt16BE(top, 6);
    head.writeUInt16BE(width, 8);
    head.writeUInt16BE(height, 10);
    const pixels = rawPixels(frame, { x: left, y: top, width, height }, this.#format);
    this.#client.send(Buffer.concat([head, pixels]));
  }
}
