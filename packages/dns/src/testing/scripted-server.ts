import { createSocket } from "node:dgram";
import { createServer, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Answer, decode, encode } from "dns-packet";

/** What a scripted server sends for a query: any number of messages as they are, honest or not. */
export type Script = (query: Buffer, overTcp: boolean) => readonly Buffer[];

export interface ScriptedServer {
  readonly address: string;
  readonly port: number;
  /** How many questions came. */
  questions(): number;
  close(): Promise<void>;
}

/** A name server that sends whatever the script says, over UDP and TCP. */
export async function startScriptedServer(
  script: Script,
  { address = "127.0.0.1", port = 0 }: { address?: string; port?: number } = {},
): Promise<ScriptedServer> {
  let questions = 0;
  const sockets = new Set<Socket>();
  const tcp = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    let received = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      questions += 1;
      for (const message of script(received.subarray(2), true)) {
        const length = Buffer.alloc(2);
        length.writeUInt16BE(message.length);
        socket.write(Buffer.concat([length, message]));
      }
    });
  });
  await new Promise<void>((resolve) => tcp.listen(port, address, resolve));
  const bound = tcp.address();
  const actual = bound !== null && typeof bound === "object" ? bound.port : port;
  const udp = createSocket("udp4");
  udp.on("message", (query: Buffer, from) => {
    questions += 1;
    void sendAll(script(query, false), (message) => udp.send(message, from.port, from.address, () => {}));
  });
  await new Promise<void>((resolve) => udp.bind(actual, address, resolve));
  return {
    address,
    port: actual,
    questions: () => questions,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await Promise.all([
        new Promise((resolve) => tcp.close(resolve)),
        new Promise<void>((resolve) => udp.close(() => resolve())),
      ]);
    },
  };
}

/** One at a turn of the event loop: who asks is in this process, and its socket holds no more than some hundred KB. */
async function sendAll(messages: readonly Buffer[], send: (message: Buffer) => void): Promise<void> {
  for (const message of messages) {
    send(message);
    await nextTurn();
  }
}

/** As often as we look at a datagram that is no answer, so that a test does not wait for the deadline. */
export function often(message: Buffer): Buffer[] {
  return Array.from({ length: 101 }, () => message);
}

/** A reply to `query` with its id and question. `flags` are those of the header. */
export function replyTo(
  query: Buffer,
  parts: { flags?: number; answers?: Answer[]; authorities?: Answer[]; additionals?: Answer[] },
): Buffer {
  const { id = 0, questions = [] } = decode(query);
  return encode({ type: "response", id, questions, flags: 1 << 10, ...parts });
}
