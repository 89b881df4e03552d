import type { RawData, WebSocket } from "ws";

/** At most this much may wait to be sent to one socket; above it the other socket is not read any more. */
const fullBytes = 256 * 1024;
const drainedBytes = 64 * 1024;

/**
 * Forwards bytes no faster than they are read: a slow reader makes the writer wait, all the way to the
 * machine, and no part in between buffers more than the limits here.
 */
export class Pump {
  readonly #from: WebSocket;
  readonly #to: WebSocket;
  /**
   * How much the other end may have received and not yet acknowledged as shown; null: it sends no
   * acknowledgements.
   */
  readonly #windowBytes: number;
  #acknowledged: number | null = null;
  #sent = 0;
  /** When data last left for the other end. */
  #progressAt = performance.now();

  constructor(from: WebSocket, to: WebSocket, windowBytes: number) {
    this.#from = from;
    this.#to = to;
    this.#windowBytes = windowBytes;
  }

  get bytes(): number {
    return this.#sent;
  }

  /** How long the reader has accepted nothing of what waits for it. */
  get stuckMs(): number {
    return this.#to.bufferedAmount === 0 ? 0 : performance.now() - this.#progressAt;
  }

  pass(data: Buffer): void {
    if (this.#to.bufferedAmount === 0) this.#progressAt = performance.now();
    this.#sent += data.length;
    this.#to.send(data, { binary: true }, () => {
      this.#progressAt = performance.now();
      this.#goOn();
    });
    if (this.#isFull) this.#from.pause();
  }

  /** The other end has shown so many bytes, counted from the first. */
  acknowledge(bytes: number): void {
    if (bytes > this.#sent || bytes < (this.#acknowledged ?? 0)) return;
    this.#acknowledged = bytes;
    this.#goOn();
  }

  get #unshown(): number {
    return this.#acknowledged === null ? 0 : this.#sent - this.#acknowledged;
  }

  get #isFull(): boolean {
    return this.#to.bufferedAmount > fullBytes || this.#unshown > this.#windowBytes;
  }

  #goOn(): void {
    if (!this.#from.isPaused) return;
    if (this.#to.bufferedAmount <= drainedBytes && this.#unshown <= this.#windowBytes / 2)
      this.#from.resume();
  }
}

/** A message in any of the forms of `ws`, as one buffer. */
export function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}
