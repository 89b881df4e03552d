import http, { type IncomingMessage, type ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import type { ServerIdentity } from "@kule/lab/certificate";
import { FaultRules, type Occurrence } from "./fault-rules.ts";
import { endToEndHeaders, type HttpAnswer, type HttpCall, HttpForward } from "./http-forward.ts";

/** A fault of the requests that match. */
export type HttpFault = Occurrence & {
  /** Any method when absent. */
  readonly method?: string;
  /** Tested against the path with its query; any when absent. */
  readonly path?: RegExp;
  /** The last condition, on the request's body. */
  readonly when?: (body: string) => boolean;
} & HttpFaultKind;

export type HttpFaultKind =
  /** Forwarded this much later. */
  | { readonly action: "delay"; readonly milliseconds: number }
  /** The connection is closed; nothing was forwarded. */
  | { readonly action: "drop-before" }
  /**
   * Forwarded and answered; the effect has happened, and the caller's connection is closed without the reply.
   */
  | { readonly action: "drop-after" }
  /** The same as drop-before with a TCP reset, as when a machine disappears. */
  | { readonly action: "reset" }
  /** Never forwarded and never answered, until the caller gives up. */
  | { readonly action: "blackhole" }
  /** The reply is sent a byte at a time, with this pause before each. */
  | { readonly action: "drip"; readonly milliseconds: number }
  /**
   * Forwarded two or three times. Which reply the caller gets is random, and, where it is the first one, the
   * others are still running when the caller continues.
   */
  | {
      readonly action: "duplicate";
      readonly copies: 2 | 3;
      readonly order: "at-once" | "one-after-other";
      /** Up to this much between one copy and the next that is sent after it. Default 0. */
      readonly apartMs?: number;
    }
  /** Held until a later request has been answered, or for this long. */
  | { readonly action: "reorder"; readonly heldMs: number };

/** One request of a caller, and what became of it. */
export type Exchange = {
  readonly number: number;
  readonly method: string;
  readonly path: string;
  readonly requestBody: string;
  readonly fault: HttpFaultKind["action"] | null;
  /** Of each copy that was forwarded, by its number; null where there was no answer. */
  readonly answers: readonly ((Pick<HttpAnswer, "status"> & { readonly body: string }) | null)[];
  /** The copy whose answer the caller was given. */
  readonly returned: number | null;
  /** Monotonic, in milliseconds: when it arrived, and when the last copy was answered. */
  readonly cameAtMs: number;
  readonly endedAtMs: number;
};

export type HttpProxyOptions = {
  /** Where requests go: http://127.0.0.1:8080, or https:// for a lab. */
  readonly target: string;
  readonly random: () => number;
  /** Makes it use TLS for callers, with this certificate. */
  readonly identity?: ServerIdentity;
  /**
   * Idle connections of callers stay open: one that was suspended for long finds its connection as it was.
   * Each call is forwarded over a new connection, which the target cannot have closed in the meantime.
   */
  readonly keepsIdleConnections?: boolean;
  /** Called with each request when all of its copies have ended. */
  readonly onExchange?: (exchange: Exchange) => void;
};

/**
 * An HTTP proxy on 127.0.0.1 with the faults of networks and impatient clients. It reads whole requests and
 * whole replies, so it is not for event streams.
 */
export class HttpFaultProxy {
  readonly #options: HttpProxyOptions;
  readonly #forward: HttpForward;
  readonly #server: http.Server | https.Server;
  readonly #rules: FaultRules<HttpFault>;
  readonly #sockets = new Map<string, Socket>();
  readonly #closing = new AbortController();
  readonly #open = new Set<Promise<void>>();
  readonly #counts = new Map<string, number>();
  /** Resolved by the next request that is answered: what a held one waits for. */
  #passed = Promise.withResolvers<void>();
  #number = 0;

  private constructor(options: HttpProxyOptions) {
    this.#options = options;
    this.#rules = new FaultRules(options.random);
    this.#forward = new HttpForward(options.target, { keepAlive: !options.keepsIdleConnections });
    const listener = (request: IncomingMessage, response: ServerResponse) => {
      const work = this.#handle(request, response).catch(() => void request.socket.destroy());
      this.#open.add(work);
      void work.finally(() => this.#open.delete(work));
    };
    const { identity } = options;
    this.#server =
      identity === undefined
        ? http.createServer(listener)
        : https.createServer({ key: identity.keyPem, cert: identity.certificatePem }, listener);
    if (options.keepsIdleConnections) this.#server.keepAliveTimeout = 0;
    // Below TLS, where a connection can be reset.
    this.#server.on("connection", (socket: Socket) => {
      const key = `${socket.remotePort}`;
      this.#sockets.set(key, socket);
      socket.on("error", () => {});
      socket.once("close", () => this.#sockets.delete(key));
    });
    this.#server.on("tlsClientError", () => {});
  }

  static async open(options: HttpProxyOptions): Promise<HttpFaultProxy> {
    const proxy = new HttpFaultProxy(options);
    await new Promise<void>((listening, failed) => {
      proxy.#server.once("error", failed);
      proxy.#server.listen(0, "127.0.0.1", listening);
    });
    return proxy;
  }

  /** Where callers go instead of the target. */
  get origin(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `${this.#options.identity === undefined ? "http" : "https"}://127.0.0.1:${port}`;
  }

  /** @returns a function that removes the fault again and returns how often it hit */
  add(fault: HttpFault): () => number {
    return this.#rules.add(fault);
  }

  clear(): void {
    this.#rules.clear();
  }

  /** How often it did what: "forwarded" (copies included), and each action by its name. */
  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }

  /** Resolves when nothing is in transit: no request, no late copy. */
  async quiet(): Promise<void> {
    while (this.#open.size > 0) await Promise.allSettled([...this.#open]);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const closed = new Promise<void>((done) => this.#server.close(() => done()));
    this.#server.closeAllConnections();
    for (const socket of this.#sockets.values()) socket.destroy();
    await closed;
    await this.quiet();
    this.#forward.close();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call: HttpCall = {
      method: request.method ?? "GET",
      path: request.url ?? "/",
      headers: request.headers,
      body: await buffer(request),
    };
    const fault = this.#rules.hit(
      ({ method, path, when }) =>
        (method === undefined || method === call.method) &&
        (path === undefined || path.test(call.path)) &&
        (when === undefined || when(call.body.toString("utf8"))),
    );
    if (fault !== null) this.#count(fault.action);
    this.#number += 1;
    const exchange = new OpenExchange(this.#number, call, fault?.action ?? null);
    const gone = new AbortController();
    response.once("close", () => {
      if (!response.writableFinished) gone.abort();
    });
    const signal = AbortSignal.any([gone.signal, this.#closing.signal]);
    try {
      await this.#answer(fault, exchange, call, response, signal);
    } finally {
      this.#options.onExchange?.(exchange.ended());
    }
  }

  async #answer(
    fault: HttpFault | null,
    exchange: OpenExchange,
    call: HttpCall,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    const cut = () => void response.socket?.destroy();
    switch (fault?.action) {
      case "drop-before":
        return cut();
      case "reset":
        return this.#reset(response);
      case "blackhole":
        return untilAborted(signal);
      case "duplicate":
        return this.#duplicate(fault, exchange, call, response, signal);
      case "delay":
        await delay(fault.milliseconds, undefined, { signal });
        break;
      case "reorder":
        await this.#untilPassed(fault.heldMs, signal);
        break;
      default:
    }
    const answer = await this.#send(exchange, 0, call, signal);
    if (answer === null || fault?.action === "drop-after") return cut();
    exchange.returned = 0;
    await write(response, answer, fault?.action === "drip" ? fault.milliseconds : null, signal);
    this.#pass();
  }

  /** The caller gets one reply; the copies are sent to their end whatever becomes of the caller. */
  async #duplicate(
    fault: Extract<HttpFault, { action: "duplicate" }>,
    exchange: OpenExchange,
    call: HttpCall,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    const { random } = this.#options;
    const chosen = Math.floor(random() * fault.copies);
    const give = async (answer: HttpAnswer | null) => {
      if (answer === null) return void response.socket?.destroy();
      exchange.returned = chosen;
      await write(response, answer, null, signal).catch(() => {});
      this.#pass();
    };
    const one = async (copy: number) => {
      const answer = await this.#send(exchange, copy, call, signal);
      if (copy === chosen) await give(answer);
    };
    if (fault.order === "at-once") {
      await Promise.all(Array.from({ length: fault.copies }, (_, copy) => one(copy)));
      return;
    }
    for (let copy = 0; copy < fault.copies; copy += 1) {
      if (copy > 0 && fault.apartMs !== undefined)
        await delay(random() * fault.apartMs, undefined, { signal: this.#closing.signal });
      await one(copy);
    }
  }

  async #send(
    exchange: OpenExchange,
    copy: number,
    call: HttpCall,
    signal: AbortSignal,
  ): Promise<HttpAnswer | null> {
    this.#count("forwarded");
    const answer = await this.#forward.send(call, signal).catch(() => null);
    exchange.note(copy, answer);
    return answer;
  }

  #reset(response: ServerResponse): void {
    const socket = this.#sockets.get(`${response.socket?.remotePort}`);
    if (socket === undefined) throw new Error("the connection is gone already");
    socket.resetAndDestroy();
  }

  #pass(): void {
    this.#passed.resolve();
    this.#passed = Promise.withResolvers();
  }

  async #untilPassed(heldMs: number, signal: AbortSignal): Promise<void> {
    await Promise.race([this.#passed.promise, delay(heldMs, undefined, { signal, ref: false })]);
  }

  #count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }
}

class OpenExchange {
  returned: number | null = null;
  readonly #number: number;
  readonly #call: HttpCall;
  readonly #fault: HttpFaultKind["action"] | null;
  readonly #cameAtMs = performance.now();
  readonly #answers: Exchange["answers"][number][] = [];

  constructor(number: number, call: HttpCall, fault: HttpFaultKind["action"] | null) {
    this.#number = number;
    this.#call = call;
    this.#fault = fault;
  }

  note(copy: number, answer: HttpAnswer | null): void {
    this.#answers[copy] = answer && { status: answer.status, body: answer.body.toString("utf8") };
  }

  ended(): Exchange {
    return {
      number: this.#number,
      method: this.#call.method,
      path: this.#call.path,
      requestBody: this.#call.body.toString("utf8"),
      fault: this.#fault,
      answers: this.#answers,
      returned: this.returned,
      cameAtMs: this.#cameAtMs,
      endedAtMs: performance.now(),
    };
  }
}

async function write(
  response: ServerResponse,
  answer: HttpAnswer,
  dripMs: number | null,
  signal: AbortSignal,
): Promise<void> {
  response.writeHead(answer.status, answer.reason, endToEndHeaders(answer).flat());
  if (dripMs !== null)
    for (const byte of answer.body) {
      await delay(dripMs, undefined, { signal });
      response.write(Uint8Array.of(byte));
    }
  await new Promise<void>((done) => {
    response.once("close", done);
    response.end(dripMs === null ? answer.body : undefined, done);
  });
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done();
    signal.addEventListener("abort", () => done(), { once: true });
  });
}
