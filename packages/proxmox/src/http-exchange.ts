// One HTTP request and its answer, and what Proxmox' caller must know when there is no answer: whether any of
// the request can have reached the server.

import { request as httpsRequest } from "node:https";
import type { Timers } from "./runtime.ts";
import { type TlsTrust, TrustedAgent } from "./trusted-agent.ts";

export type HttpAnswer = { readonly status: number; readonly reason: string; readonly body: string };

/** No answer. `sent` is false only when no byte of the request can have left. */
export class NoAnswer extends Error {
  readonly sent: boolean;
  readonly reusedConnection: boolean;
  constructor(cause: unknown, sent: boolean, reusedConnection: boolean) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = "NoAnswer";
    this.sent = sent;
    this.reusedConnection = reusedConnection;
  }
}

/** An answer larger than this is no answer of Proxmox; reading on would only fill the memory. */
const MAX_BODY_BYTES = 32 * 2 ** 20;

export type HttpExchange = {
  /** On a connection of its own, which no other call has used. */
  readonly alone: boolean;
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly deadlineMilliseconds: number;
  readonly signal?: AbortSignal | undefined;
  /** Awaited when the head of the answer has arrived and before it is evaluated. */
  readonly answered?: (() => Promise<void>) | undefined;
};

/** Carries requests to endpoints. */
export type Transport = {
  /** Rejects with NoAnswer, or with what `answered` throws. */
  exchange(call: HttpExchange): Promise<HttpAnswer>;
  /** Ends idle connections. Calls still under way are not waited for. */
  close(): void;
};

const CONNECT_MILLISECONDS = 5_000;

/** HTTPS to servers that have proven who they are. Throws a TypeError for a malformed trust. */
export function httpsTransport(tls: TlsTrust, timers: Timers): Transport {
  const connectMilliseconds = CONNECT_MILLISECONDS;
  const kept = new TrustedAgent(tls, timers, { keepAlive: true, maxSockets: 8, connectMilliseconds });
  const fresh = new TrustedAgent(tls, timers, { keepAlive: false, connectMilliseconds });
  return {
    exchange: (call) => exchange(call, call.alone ? fresh : kept, timers),
    close: () => {
      kept.destroy();
      fresh.destroy();
    },
  };
}

function exchange(call: HttpExchange, agent: TrustedAgent, timers: Timers): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    let sent = false;
    let settled = false;
    const request = httpsRequest(call.url, { agent, method: call.method, headers: call.headers });
    const finish = (act: () => void) => {
      if (settled) return;
      settled = true;
      cancelDeadline();
      call.signal?.removeEventListener("abort", abort);
      act();
    };
    const fail = (cause: unknown) =>
      finish(() => {
        reject(new NoAnswer(cause, sent, request.reusedSocket));
        request.destroy();
      });
    const cancelDeadline = timers.after(call.deadlineMilliseconds, () =>
      fail(new Error(`no answer in ${call.deadlineMilliseconds} ms`)),
    );
    const abort = () => fail(call.signal?.reason ?? new Error("aborted"));
    // Before anything can end the request: a destroyed one emits "socket hang up", which without a listener
    // ends the process.
    request.on("error", fail);
    if (call.signal?.aborted) return abort();
    call.signal?.addEventListener("abort", abort, { once: true });

    // The agent returns a socket only when the server has proven its identity; writing starts right then.
    request.once("socket", () => {
      sent = true;
    });
    request.once("response", (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_BODY_BYTES)
          return fail(new Error(`the answer is larger than ${MAX_BODY_BYTES} bytes`));
        chunks.push(chunk);
      });
      response.on("error", fail);
      response.on("aborted", () => fail(new Error("the connection broke in the middle of the answer")));
      const body = new Promise<string>((complete) =>
        response.on("end", () => complete(Buffer.concat(chunks).toString("utf8"))),
      );
      Promise.all([body, call.answered?.()]).then(
        ([text]) =>
          finish(() =>
            resolve({ status: response.statusCode ?? 0, reason: response.statusMessage ?? "", body: text }),
          ),
        (error) =>
          finish(() => {
            reject(error);
            request.destroy();
          }),
      );
    });
    request.end(call.body ?? undefined);
  });
}
