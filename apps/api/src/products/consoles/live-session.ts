import type { WebSocket } from "ws";
import { isPersonsInput, readControl } from "./control-message.ts";
import { MessageBudget, type MessagePace } from "./message-budget.ts";
import { bytesOf, Pump } from "./pump.ts";
import type { Activity, SessionEnd, SessionRow } from "./store.ts";

export type SessionTimes = {
  /** Between two checks of the database, when no notification comes. */
  readonly checkMs: number;
  readonly connectMs: number;
  readonly idleMs: number;
  readonly lengthMs: number;
  /** Between two pings; a side that answers neither two pings nor anything else is gone. */
  readonly pingMs: number;
  /** A reader that accepts nothing for this long is gone, whatever its machine answers. */
  readonly stuckMs: number;
  readonly viewerPace: MessagePace;
  readonly regionPace: MessagePace;
};

/** Faster than a person types, moves a pointer or acknowledges what was shown. */
export const viewerPace: MessagePace = { atOnce: 5_000, perSecond: 1_000 };
/** A machine that prints as fast as it can, in messages of a line. */
export const regionPace: MessagePace = { atOnce: 50_000, perSecond: 20_000 };

type Listeners = {
  /** The machine answers. */
  opened(): void;
  ended(end: SessionEnd): void;
};

/** How much a browser may send before the machine answers; more waits in its socket. */
const earlyBytes = 16 * 1024;
/** Of so many messages at most, and with what had been read when the socket was paused. */
const earlyMessages = 2_000;
const mostEarlyBytes = 256 * 1024;
/** More than what waits for the machine's side before its reader is paused, so that a paste does not lose a size. */
const mostBeforeSizes = 512 * 1024;
/** How much may be in transit to a browser that acknowledges what it has shown. */
const windowBytes = 512 * 1024;
/** Why a session ends whose sides send more than is read. */
const flooded = "too_many_messages";
/** How long a close may wait for its answer. */
const closeMs = 1_000;
const reasonsOfAgents = new Set(["server_off", "serial_unsupported", "hypervisor_failed"]);

/** One session in the process that holds its browser's socket: two sockets, and everything that ends them. */
export class LiveSession {
  readonly row: SessionRow;
  readonly #browser: WebSocket;
  readonly #times: SessionTimes;
  readonly #listeners: Listeners;
  readonly #timers: NodeJS.Timeout[] = [];
  #agent: WebSocket | null = null;
  #toBrowser: Pump | null = null;
  #toAgent: Pump | null = null;
  #early: Buffer[] = [];
  #earlyBytes = 0;
  /** What the region's side sent before it reported that the machine answers. */
  #beforeOpen = { messages: 0, bytes: 0 };
  #isOpen = false;
  /** When a person last did something, or the session began. */
  #inputAt = performance.now();
  #hasInput = false;
  #isOver = false;

  constructor(row: SessionRow, browser: WebSocket, times: SessionTimes, listeners: Listeners) {
    this.row = row;
    this.#browser = browser;
    this.#times = times;
    this.#listeners = listeners;
    browser.on("message", (data, isBinary) => this.#fromBrowser(bytesOf(data), isBinary));
    this.#pace(browser, times.viewerPace);
    browser.on("error", () => this.end("closed"));
    browser.on("close", () => this.end("closed"));
    this.#after(times.connectMs, () => {
      if (!this.#isOpen) this.end("region_silent");
    });
    this.#after(times.lengthMs, () => this.end("length"));
    this.#every(Math.min(times.idleMs, 5_000), () => {
      if (performance.now() - this.#inputAt > times.idleMs) this.end("idle");
      if ((this.#toBrowser?.stuckMs ?? 0) > times.stuckMs) this.end("unresponsive");
    });
    this.#watch(browser, "closed");
  }

  /** The region's side. False when it is connected already, or when there is no browser. */
  attachAgent(agent: WebSocket): boolean {
    if (this.#agent !== null || this.#isOver) return false;
    this.#agent = agent;
    this.#toBrowser = new Pump(agent, this.#browser, windowBytes);
    this.#toAgent = new Pump(this.#browser, agent, Number.POSITIVE_INFINITY);
    agent.on("message", (data, isBinary) => this.#fromAgent(bytesOf(data), isBinary));
    this.#pace(agent, this.#times.regionPace);
    agent.on("error", () => this.end("region_lost"));
    agent.on("close", (_code, reason) => {
      const said = reason.toString("utf8");
      this.end(reasonsOfAgents.has(said) ? said : "region_lost");
    });
    this.#watch(agent, "region_lost");
    return true;
  }

  /** Closes both sides with the reason as text; a side that does not answer in time is disconnected. */
  end(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const timer of this.#timers) clearTimeout(timer);
    const code = reason === "restarting" ? 1012 : reason === "closed" ? 1000 : 4000;
    for (const socket of [this.#browser, this.#agent]) {
      if (socket === null) continue;
      // A paused socket would never read the answer to its close.
      socket.resume();
      socket.close(code, reason);
      setTimeout(() => socket.terminate(), closeMs).unref();
    }
    this.#early = [];
    const { bytesIn, bytesOut } = this.activity;
    this.#listeners.ended({ reason, bytes: { in: bytesIn, out: bytesOut } });
  }

  get activity(): Activity {
    return {
      bytesIn: this.#toAgent?.bytes ?? 0,
      bytesOut: this.#toBrowser?.bytes ?? 0,
      inputAgeMs: this.#hasInput ? performance.now() - this.#inputAt : null,
    };
  }

  #fromBrowser(bytes: Buffer, isBinary: boolean): void {
    if (this.#isOver) return;
    if (!isBinary) {
      const control = readControl(bytes);
      if (control === null || control.type === "open") this.end("protocol");
      else if (control.type === "ack") this.#toBrowser?.acknowledge(control.bytes);
      else if (this.#isOpen) this.#tellSize(JSON.stringify(control));
      return;
    }
    // Not input, and nothing to forward.
    if (bytes.length === 0) return;
    if (isPersonsInput(this.row.type as "serial" | "vnc", bytes)) {
      this.#inputAt = performance.now();
      this.#hasInput = true;
    }
    if (this.#isOpen && this.#toAgent !== null) {
      this.#toAgent.pass(bytes);
      return;
    }
    this.#early.push(bytes);
    this.#earlyBytes += bytes.length;
    if (this.#early.length > earlyMessages || this.#earlyBytes > mostEarlyBytes) this.end(flooded);
    else if (this.#earlyBytes > earlyBytes) this.#browser.pause();
  }

  /**
   * Dropped while the machine's side accepts nothing: however many sizes a browser sends, none is queued
   * here.
   */
  #tellSize(control: string): void {
    if (this.#agent !== null && this.#agent.bufferedAmount < mostBeforeSizes) this.#agent.send(control);
  }

  #fromAgent(bytes: Buffer, isBinary: boolean): void {
    if (this.#isOver) return;
    if (isBinary) {
      if (!this.#isOpen && !this.#isFewBeforeOpen(bytes)) this.end(flooded);
      else if (bytes.length > 0) this.#toBrowser?.pass(bytes);
      return;
    }
    const control = readControl(bytes);
    if (control?.type !== "open" || this.#isOpen) {
      this.end("region_lost");
      return;
    }
    this.#isOpen = true;
    // A viewer of screens understands only RFB.
    if (this.row.type === "serial") this.#browser.send(JSON.stringify({ type: "open" }));
    this.#listeners.opened();
    for (const early of this.#early.splice(0)) this.#toAgent?.pass(early);
    this.#browser.resume();
  }

  /**
   * A screen's region sends its greeting before it reports that the machine answers; nothing else comes that
   * early.
   */
  #isFewBeforeOpen(bytes: Buffer): boolean {
    this.#beforeOpen.messages += 1;
    this.#beforeOpen.bytes += bytes.length;
    return this.#beforeOpen.messages <= earlyMessages && this.#beforeOpen.bytes <= mostEarlyBytes;
  }

  /** Ends the session when a side sends more messages of any kind than a real one would. */
  #pace(socket: WebSocket, pace: MessagePace): void {
    const budget = new MessageBudget(pace);
    const count = () => {
      if (!this.#isOver && !budget.take()) this.end(flooded);
    };
    for (const kind of ["message", "ping", "pong"]) socket.prependListener(kind, count);
  }

  /**
   * Pings, and ends the session when no answer comes. While this side's data is not being read, its answer
   * cannot be read either, so that time does not count.
   */
  #watch(socket: WebSocket, reason: string): void {
    let missed = 0;
    const heard = () => {
      missed = 0;
    };
    socket.on("pong", heard);
    socket.on("message", heard);
    this.#every(this.#times.pingMs, () => {
      if (socket.isPaused) missed = 0;
      else missed += 1;
      if (missed > 2) {
        socket.terminate();
        this.end(reason);
      } else if (socket.readyState === socket.OPEN) socket.ping();
    });
  }

  #after(ms: number, act: () => void): void {
    const timer = setTimeout(act, ms);
    timer.unref();
    this.#timers.push(timer);
  }

  #every(ms: number, act: () => void): void {
    const timer = setInterval(act, ms);
    timer.unref();
    this.#timers.push(timer);
  }
}
