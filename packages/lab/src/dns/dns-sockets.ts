// The stand-in's name server: UDP and TCP on one port.

import { createSocket, type Socket as DatagramSocket } from "node:dgram";
import { createServer, type Server, type Socket } from "node:net";
import { type Answer, type DecodedPacket, decode, encode } from "dns-packet";
import { PortTaken } from "../port-taken.ts";
import { type AnswerCode, answerQuestion, type ZoneAnswer } from "./answer.ts";
import type { Zone } from "./zone.ts";

export interface DnsSockets {
  readonly port: number;
  close(): Promise<void>;
}

const CODES: Readonly<Record<AnswerCode, number>> = {
  NOERROR: 0,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  REFUSED: 5,
  NOTAUTH: 9,
};
const NOTIMP = 4;
const AUTHORITATIVE = 1 << 10;
const TRUNCATED = 1 << 9;
const RECURSION_DESIRED = 1 << 8;
/** Without EDNS. */
const SMALLEST_PAYLOAD_BYTES = 512;
/** PowerDNS' `udp-truncation-threshold`, whatever a client asks for. */
const LARGEST_PAYLOAD_BYTES = 1_232;
const MAX_TCP_CONNECTIONS = 100;
const IDLE_MILLISECONDS = 5_000;

/** `port` 0 takes a free one. @throws PortTaken */
export async function listenForQuestions(
  zones: ReadonlyMap<string, Zone>,
  address: string,
  port: number,
): Promise<DnsSockets> {
  const tcp = createServer((socket) => serveConnection(zones, socket));
  tcp.maxConnections = MAX_TCP_CONNECTIONS;
  const connections = new Set<Socket>();
  tcp.on("connection", (socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
  });
  await listenTcp(tcp, address, port);
  const bound = tcp.address();
  const actual = bound !== null && typeof bound === "object" ? bound.port : port;
  const udp = createSocket(address.includes(":") ? "udp6" : "udp4");
  udp.on("message", (bytes, from) => {
    const reply = replyTo(zones, bytes, true);
    if (reply !== null) udp.send(reply, from.port, from.address, () => {});
  });
  try {
    await bindUdp(udp, address, actual);
  } catch (error) {
    tcp.close();
    throw error;
  }
  return {
    port: actual,
    close: async () => {
      for (const socket of connections) socket.destroy();
      await Promise.all([
        new Promise<void>((resolve) => tcp.close(() => resolve())),
        new Promise<void>((resolve) => udp.close(() => resolve())),
      ]);
    },
  };
}

function listenTcp(server: Server, address: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(error.code === "EADDRINUSE" ? new PortTaken(port) : error),
    );
    server.listen(port, address, resolve);
  });
}

function bindUdp(socket: DatagramSocket, address: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("error", (error: NodeJS.ErrnoException) =>
      reject(error.code === "EADDRINUSE" ? new PortTaken(port) : error),
    );
    socket.bind(port, address, () => {
      socket.removeAllListeners("error");
      // What a client's closed port reports is no reason to end.
      socket.on("error", () => {});
      resolve();
    });
  });
}

function serveConnection(zones: ReadonlyMap<string, Zone>, socket: Socket): void {
  let received = Buffer.alloc(0);
  socket.setTimeout(IDLE_MILLISECONDS, () => socket.destroy());
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
      const length = received.readUInt16BE(0);
      const reply = replyTo(zones, received.subarray(2, 2 + length), false);
      received = received.subarray(2 + length);
      if (reply === null) return void socket.destroy();
      const prefix = Buffer.alloc(2);
      prefix.writeUInt16BE(reply.length);
      socket.write(Buffer.concat([prefix, reply]));
    }
  });
}

/** Null for what gets no reply. */
function replyTo(zones: ReadonlyMap<string, Zone>, bytes: Buffer, overUdp: boolean): Buffer | null {
  let query: DecodedPacket;
  try {
    query = decode(bytes);
  } catch {
    return null;
  }
  const [question] = query.questions ?? [];
  if (query.flag_qr || question === undefined || query.questions?.length !== 1) return null;
  const edns = query.additionals?.find((record) => record.type === "OPT");
  const opcode = (bytes[2] ?? 0) >> 3;
  // 4 is NOTIFY and 5 UPDATE; PowerDNS is silent about the others.
  if (opcode !== 0 && opcode !== 4 && opcode !== 5) return null;
  const name = question.name === "." ? "." : `${question.name}.`;
  const isTransfer = question.type === "AXFR" || question.type === "IXFR";
  const answer =
    opcode !== 0
      ? refusal("REFUSED")
      : isTransfer
        ? refusal(overUdp ? "REFUSED" : "NOTAUTH")
        : answerQuestion(zones, name, question.type);
  const code = question.class !== "IN" ? NOTIMP : CODES[answer.code];
  const reply = (body: ZoneAnswer, flags: number): Buffer =>
    encode({
      type: "response",
      id: query.id,
      flags:
        flags | (query.flag_rd ? RECURSION_DESIRED : 0) | (answer.authoritative ? AUTHORITATIVE : 0) | code,
      questions: [question],
      answers: body.answers as Answer[],
      authorities: body.authorities as Answer[],
      additionals: [
        ...(body.additionals as Answer[]),
        ...(edns === undefined
          ? []
          : [
              {
                type: "OPT" as const,
                name: ".",
                udpPayloadSize: LARGEST_PAYLOAD_BYTES,
                extendedRcode: 0,
                ednsVersion: 0,
                flags: 0,
                flag_do: false,
                options: [],
              },
            ]),
      ],
    });
  const nothing = { ...answer, answers: [], authorities: [], additionals: [] };
  if (question.class !== "IN") return reply(nothing, 0);
  // ANY is a means of amplification: over UDP it is answered by "ask over TCP" (RFC 8482 lets a server choose).
  if ((question.type as string) === "ANY" && overUdp && answer.code === "NOERROR")
    return reply(nothing, TRUNCATED);
  const whole = reply(answer, 0);
  const asked = edns !== undefined && "udpPayloadSize" in edns ? edns.udpPayloadSize : SMALLEST_PAYLOAD_BYTES;
  const limit = overUdp ? Math.min(Math.max(asked, SMALLEST_PAYLOAD_BYTES), LARGEST_PAYLOAD_BYTES) : 0xffff;
  return whole.length > limit ? reply(nothing, TRUNCATED) : whole;
}

function refusal(code: AnswerCode): ZoneAnswer {
  return { code, authoritative: true, answers: [], authorities: [], additionals: [] };
}
