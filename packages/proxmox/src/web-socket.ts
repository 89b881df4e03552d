// A websocket to pveproxy: the same token in the same header, the same proof of who answers, before a byte is sent.

import { WebSocket } from "ws";
import type { Timers } from "./runtime.ts";
import { type TlsTrust, TrustedAgent } from "./trusted-agent.ts";

/** pveproxy sends single frames of at most 128 KiB. */
const FRAME_BYTES = 128 * 1024;
const CONNECT_MILLISECONDS = 5_000;

/** The server answered, and not with a websocket. */
export class WebSocketRefused extends Error {
  readonly status: number;
  constructor(status: number, reason: string) {
    super(`${status} ${reason}`);
    this.name = "WebSocketRefused";
    this.status = status;
  }
}

export function trustedWebSocket(options: {
  readonly url: URL;
  readonly authorization: string;
  readonly tls: TlsTrust;
  readonly timers: Timers;
  readonly signal?: AbortSignal | undefined;
}): Promise<WebSocket> {
  const { url, authorization, tls, timers, signal } = options;
  const agent = new TrustedAgent(tls, timers, {
    keepAlive: false,
    connectMilliseconds: CONNECT_MILLISECONDS,
  });
  const address = new URL(url);
  address.protocol = "wss:";
  const socket = new WebSocket(address, "binary", {
    agent,
    headers: { authorization },
    handshakeTimeout: 2 * CONNECT_MILLISECONDS,
    perMessageDeflate: false,
    maxPayload: FRAME_BYTES,
  });
  return new Promise((resolve, reject) => {
    const abort = () => socket.terminate();
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted) abort();
    // Bytes that are sent before there is a listener would be lost: reading begins with the first listener.
    socket.once("open", () => {
      socket.pause();
      signal?.removeEventListener("abort", abort);
      resolve(socket);
    });
    socket.once("unexpected-response", (_request, response) => {
      reject(new WebSocketRefused(response.statusCode ?? 0, response.statusMessage ?? ""));
      response.destroy();
    });
    socket.on("error", reject);
    socket.once("close", () => reject(new Error("the connection was closed")));
  });
}
