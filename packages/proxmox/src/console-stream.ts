import type { RawData, WebSocket } from "ws";
import type { Timers } from "./runtime.ts";

/** An open console: bytes both ways, and the means to make the machine wait. */
export type ConsoleStream = {
  /** Bytes are kept back until this is called. */
  listen(listeners: { data(bytes: Buffer): void; end(): void }): void;
  /** `sent` is called when the bytes have left. */
  send(bytes: Uint8Array, sent: () => void): void;
  /** Of a text terminal; nothing else has a size that a viewer could choose. */
  resize(columns: number, rows: number): void;
  readonly unsentBytes: number;
  readonly isPaused: boolean;
  pause(): void;
  resume(): void;
  close(): void;
};

const CLOSE_MILLISECONDS = 1_000;

/** The differences between a terminal and a screen once they are open. */
export type Framing = {
  frame(bytes: Uint8Array): Uint8Array;
  resize(columns: number, rows: number): Uint8Array | null;
  /** Sent from time to time to keep the connection open; null where the other end does not require it. */
  readonly keepAlive: Uint8Array | null;
};

const KEEP_ALIVE_MILLISECONDS = 30_000;

/** @param early bytes that were received along with the handshake */
export function consoleStream(
  socket: WebSocket,
  early: Buffer,
  framing: Framing,
  timers: Timers,
): ConsoleStream {
  const { keepAlive } = framing;
  let cancelKeepAlive = (): void => {};
  const stayAlive = (message: Uint8Array): void => {
    cancelKeepAlive = timers.after(KEEP_ALIVE_MILLISECONDS, () => {
      socket.send(message);
      stayAlive(message);
    });
  };
  if (keepAlive !== null) stayAlive(keepAlive);
  socket.once("close", () => cancelKeepAlive());
  return {
    listen({ data, end }) {
      if (early.length > 0) data(early);
      socket.on("message", (bytes) => data(bytesOf(bytes)));
      if (socket.readyState === socket.CLOSED) end();
      socket.once("close", end);
      socket.resume();
    },
    send: (bytes, sent) => socket.send(framing.frame(bytes), sent),
    resize(columns, rows) {
      const message = framing.resize(columns, rows);
      if (message !== null) socket.send(message);
    },
    get unsentBytes() {
      return socket.bufferedAmount;
    },
    get isPaused() {
      return socket.isPaused;
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close() {
      cancelKeepAlive();
      // Paused, it would never read the answer to its close.
      socket.resume();
      socket.close(1000);
      const cancel = timers.after(CLOSE_MILLISECONDS, () => socket.terminate());
      socket.once("close", cancel);
    },
  };
}

/** More than any part of a handshake has; further bytes wait with the hypervisor. */
const AHEAD_BYTES = 4 * 1024;

/** Reads so many bytes, or what there is until something is found, before a console begins. */
export class HandshakeReader {
  readonly #socket: WebSocket;
  readonly #onMessage: (data: RawData) => void;
  #bytes = Buffer.alloc(0);
  #isClosed = false;
  #wake: () => void = () => {};

  constructor(socket: WebSocket) {
    this.#socket = socket;
    this.#onMessage = (data) => {
      const bytes = bytesOf(data);
      if (bytes.length === 0) return;
      this.#bytes = Buffer.concat([this.#bytes, bytes]);
      if (this.#bytes.length > AHEAD_BYTES) socket.pause();
      this.#wake();
    };
    socket.on("message", this.#onMessage);
    socket.once("close", () => {
      this.#isClosed = true;
      this.#wake();
    });
    socket.resume();
  }

  /** Null when the other end closes before. */
  async read(length: number): Promise<Buffer | null> {
    while (this.#bytes.length < length) {
      if (this.#isClosed) return null;
      this.#socket.resume();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const bytes = this.#bytes.subarray(0, length);
    this.#bytes = this.#bytes.subarray(length);
    return bytes;
  }

  /** Stops reading and returns the bytes that were received and not requested. */
  rest(): Buffer {
    this.#socket.pause();
    this.#socket.removeListener("message", this.#onMessage);
    return this.#bytes;
  }
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}
