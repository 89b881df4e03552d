// One question to one address: UDP, and TCP when the answer does not fit. No answer, however odd, is an exception.

import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { connect, isIP, isIPv6 } from "node:net";
import type { Answer, DecodedPacket } from "dns-packet";
import { absoluteName, isAskableName } from "./dns-name.ts";
import { answersQuery, decodeMessage, encodeQuery, type Question } from "./message.ts";
import { recordText } from "./record-text.ts";

export interface ServerAddress {
  /** IPv4 or IPv6. */
  readonly address: string;
  /** 53 unless it is a test's. */
  readonly port: number;
}

export interface DnsRecord {
  /** Absolute, lower case. */
  readonly name: string;
  readonly type: string;
  readonly ttlSeconds: number;
  /** The form that PowerDNS has as `content`. */
  readonly content: string;
}

/** `code` is the response code: `NOERROR`, `NXDOMAIN`, `SERVFAIL`, `REFUSED` … */
export interface Answered {
  readonly outcome: "answered";
  readonly code: string;
  readonly authoritative: boolean;
  readonly overTcp: boolean;
  readonly answers: readonly DnsRecord[];
  readonly authorities: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
}

/**
 * `timeout`: nothing in time. `unreachable`: no way there, or nothing listens. `malformed`: only answers that are broken,
 * too large or to something else. `truncated`: it does not fit into UDP, and TCP gives none. `bad-question`: the name or
 * the address cannot be asked.
 */
export interface NotAnswered {
  readonly outcome: "not-answered";
  readonly reason: "timeout" | "unreachable" | "malformed" | "truncated" | "bad-question";
}

export type NameServerAnswer = Answered | NotAnswered;

export interface AskOptions {
  /** For everything, TCP included. Default 2,000. */
  readonly deadlineMilliseconds?: number;
  /** For resolvers; name servers are asked without. */
  readonly recursionDesired?: boolean;
  /** Do not try UDP. */
  readonly overTcp?: boolean;
}

const DEFAULT_DEADLINE_MILLISECONDS = 2_000;
/** A lost datagram is sent again after this share of the time. */
const REPEAT_AFTER_SHARE = 0.4;
/** More than fits into a datagram that we ask for, for servers that do not keep to it. */
const MAX_DATAGRAM_BYTES = 4_096;
/** So many datagrams that are no answer to us are looked at. */
const MAX_IGNORED_DATAGRAMS = 100;

/** Asks once. Never throws; resolves within the deadline. */
export async function askNameServer(
  server: ServerAddress,
  question: Question,
  options: AskOptions = {},
): Promise<NameServerAnswer> {
  const name = absoluteName(question.name);
  // A socket would take anything else for a host's name, and ask the machine's resolver for it.
  const isAddress = isIP(server.address) !== 0 && server.port > 0 && server.port <= 0xffff;
  if (!isAskableName(name) || !isAddress) return { outcome: "not-answered", reason: "bad-question" };
  const asked = { name, type: question.type };
  const end = performance.now() + (options.deadlineMilliseconds ?? DEFAULT_DEADLINE_MILLISECONDS);
  const query = (edns: boolean): Buffer =>
    encodeQuery(randomInt(0x1_0000), asked, { recursionDesired: options.recursionDesired ?? false, edns });
  if (options.overTcp) return toAnswer(await askOverTcp(server, query(true), end), true);
  let message = await askOverUdp(server, query(true), end);
  // Servers from before EDNS know no OPT record, and say so.
  if (typeof message !== "string" && rcodeOf(message) === "FORMERR")
    message = await askOverUdp(server, query(false), end);
  if (typeof message === "string" || !message.flag_tc) return toAnswer(message, false);
  const whole = await askOverTcp(server, query(true), end);
  return typeof whole === "string" ? { outcome: "not-answered", reason: "truncated" } : toAnswer(whole, true);
}

type Failure = Exclude<NotAnswered["reason"], "truncated" | "bad-question">;

function askOverUdp(server: ServerAddress, query: Buffer, end: number): Promise<DecodedPacket | Failure> {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(server.address) ? "udp6" : "udp4");
    const milliseconds = Math.max(1, end - performance.now());
    let ignored = 0;
    const finish = (result: DecodedPacket | Failure): void => {
      clearTimeout(deadline);
      clearTimeout(repeat);
      socket.removeAllListeners();
      // A late error of a closed socket would otherwise end the process.
      socket.on("error", () => {});
      socket.close();
      resolve(result);
    };
    const deadline = setTimeout(() => finish(ignored > 0 ? "malformed" : "timeout"), milliseconds);
    const send = (): void => socket.send(query, (error) => error && finish("unreachable"));
    let repeat: NodeJS.Timeout | undefined;
    socket.on("error", () => finish("unreachable"));
    socket.on("message", (bytes) => {
      const message =
        bytes.length <= MAX_DATAGRAM_BYTES && answersQuery(bytes, query) ? decodeMessage(bytes) : null;
      if (message !== null) return finish(message);
      // Waiting on: who guesses must not be able to end the question.
      ignored += 1;
      if (ignored > MAX_IGNORED_DATAGRAMS) finish("malformed");
    });
    socket.once("connect", () => {
      send();
      repeat = setTimeout(send, milliseconds * REPEAT_AFTER_SHARE);
    });
    // A connected socket has a port of the kernel's choice, takes datagrams of this peer only, and hears of a closed port.
    // Without a callback, which would be called for an address without a route too, as if it were connected.
    socket.connect(server.port, server.address);
  });
}

function askOverTcp(server: ServerAddress, query: Buffer, end: number): Promise<DecodedPacket | Failure> {
  return new Promise((resolve) => {
    const socket = connect({ host: server.address, port: server.port });
    // Two bytes of length and as many as they can say.
    const received = Buffer.alloc(2 + 0xffff);
    let bytes = 0;
    const finish = (result: DecodedPacket | Failure): void => {
      clearTimeout(deadline);
      socket.destroy();
      resolve(result);
    };
    const deadline = setTimeout(
      () => finish(bytes > 0 ? "malformed" : "timeout"),
      Math.max(1, end - performance.now()),
    );
    socket.on("error", () => finish("unreachable"));
    socket.on("close", () => finish(bytes > 0 ? "malformed" : "unreachable"));
    socket.on("connect", () => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(query.length);
      socket.write(Buffer.concat([length, query]));
    });
    socket.on("data", (chunk: Buffer) => {
      bytes += chunk.copy(received, bytes);
      const length = received.readUInt16BE(0);
      if (bytes < 2 || bytes < 2 + length) return;
      const message = Buffer.from(received.subarray(2, 2 + length));
      finish((answersQuery(message, query) ? decodeMessage(message) : null) ?? "malformed");
    });
  });
}

function toAnswer(message: DecodedPacket | Failure, overTcp: boolean): NameServerAnswer {
  if (typeof message === "string") return { outcome: "not-answered", reason: message };
  return {
    outcome: "answered",
    code: rcodeOf(message),
    authoritative: message.flag_aa,
    overTcp,
    answers: toRecords(message.answers),
    authorities: toRecords(message.authorities),
    additionals: toRecords(message.additionals),
  };
}

/** dns-packet decodes it, its types leave it out. */
function rcodeOf(message: DecodedPacket): string {
  return "rcode" in message && typeof message.rcode === "string" ? message.rcode : "UNKNOWN";
}

function toRecords(records: readonly Answer[] | undefined): DnsRecord[] {
  return (records ?? []).flatMap((record) => {
    if (record.type === "OPT" || ("class" in record && record.class !== "IN")) return [];
    const content = recordText(record);
    return content === null
      ? []
      : [{ name: absoluteName(record.name), type: record.type, ttlSeconds: record.ttl ?? 0, content }];
  });
}
