import type { Server } from "node:http";
import { serve } from "@hono/node-server";
import { WebSocket } from "ws";
import { apiRoot } from "../app.ts";
import { announceReplica, type SessionTimes, serveConsoles } from "../products/consoles/index.ts";
import type { Replica } from "./api-world.ts";

/** A replica that listens, as `serve` would have it. */
export type ListeningReplica = {
  readonly origin: string;
  /** The consoles' part of a stop. */
  stopConsoles(): Promise<void>;
  /** As if the process had died: connections break without a close. */
  die(): Promise<void>;
  close(): Promise<void>;
};

export async function listen(
  replica: Replica,
  times: Partial<SessionTimes> = {},
  port = 0,
): Promise<ListeningReplica> {
  const server = serve({ fetch: replica.app.fetch, hostname: "127.0.0.1", port }) as Server;
  if (!server.listening) await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  const sockets = new Set<{ destroy(): void }>();
  server.on("connection", (socket) => sockets.add(socket));
  const announced = await announceReplica(replica.deps, origin);
  const consoles = serveConsoles(server, replica.deps, announced.replica, apiRoot, times);
  const closeServer = async () => {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  return {
    origin,
    stopConsoles: () => consoles.stop(),
    die: closeServer,
    async close() {
      await consoles.stop();
      await announced.stop();
      await closeServer();
    },
  };
}

/** One end of a console's websocket, with everything that it has received. */
export class ConsoleParty {
  readonly socket: WebSocket;
  readonly texts: string[] = [];
  /** How many bytes have come. */
  byteCount = 0;
  closed: { readonly code: number; readonly reason: string } | null = null;
  #parts: Buffer[] = [];
  #wake: () => void = () => {};

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (data, isBinary) => {
      if (isBinary) {
        this.#parts.push(data as Buffer);
        this.byteCount += (data as Buffer).length;
      } else this.texts.push(String(data));
      this.#wake();
    });
    socket.on("close", (code, reason) => {
      this.closed = { code, reason: reason.toString() };
      this.#wake();
    });
    socket.on("error", () => {});
  }

  /** All bytes that have come; joined only when asked for, because a flood may come in thousands of parts. */
  get bytes(): Buffer {
    if (this.#parts.length > 1) this.#parts = [Buffer.concat(this.#parts)];
    return this.#parts[0] ?? Buffer.alloc(0);
  }

  /** Forgets the bytes that have come. */
  forgetBytes(): void {
    this.#parts = [];
    this.byteCount = 0;
  }

  /** Rejects with the status of a refusal. */
  static open(url: string, protocols: string[], headers: Record<string, string> = {}): Promise<ConsoleParty> {
    const socket = new WebSocket(url, protocols, { headers });
    const party = new ConsoleParty(socket);
    return new Promise((resolve, reject) => {
      socket.once("open", () => resolve(party));
      socket.once("unexpected-response", (_request, response) => {
        reject(new Error(String(response.statusCode)));
        response.resume();
      });
      socket.once("error", reject);
    });
  }

  /**
   * Waits until it holds; the test's own time limit ends what never does.
   *
   * @throws Error with the reason of the close, after which nothing comes
   */
  async until(holds: (party: ConsoleParty) => boolean): Promise<void> {
    while (!holds(this)) {
      if (this.closed !== null) throw new Error(`closed: ${this.closed.code} ${this.closed.reason}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Waits for the close and answers its reason. */
  async reason(): Promise<string> {
    await this.until((party) => party.closed !== null);
    return this.closed?.reason ?? "";
  }
}
