// The few calls of Linux that Node does not offer: sockets in another network namespace, and raw frames.
// Needs `--experimental-ffi`, so only a process of its own imports it.

import { dlopen } from "node:ffi";
import { closeSync, openSync } from "node:fs";
import { isIPv4 } from "node:net";
import { ipBytes } from "./frames.ts";

const CLONE_NEWNET = 0x40000000;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_PACKET = 17;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;
const ETH_P_ALL = 0x0003;
const MSG_DONTWAIT = 0x40;
const SOL_SOCKET = 1;
const SOL_PACKET = 263;
const PACKET_IGNORE_OUTGOING = 23;

export const protocols = { icmp: 1, tcp: 6, udp: 17, icmp6: 58 } as const;
const types = { tcp: 1, udp: 2, icmp: 3, icmp6: 3 } as const;
export type SocketProtocol = keyof typeof protocols;

const { functions: c } = dlopen("libc.so.6", {
  setns: { arguments: ["i32", "i32"], return: "i32" },
  socket: { arguments: ["i32", "i32", "i32"], return: "i32" },
  bind: { arguments: ["i32", "buffer", "u32"], return: "i32" },
  listen: { arguments: ["i32", "i32"], return: "i32" },
  connect: { arguments: ["i32", "buffer", "u32"], return: "i32" },
  accept4: { arguments: ["i32", "pointer", "pointer", "i32"], return: "i32" },
  send: { arguments: ["i32", "buffer", "u64", "i32"], return: "i64" },
  sendto: { arguments: ["i32", "buffer", "u64", "i32", "buffer", "u32"], return: "i64" },
  recv: { arguments: ["i32", "buffer", "u64", "i32"], return: "i64" },
  recvfrom: { arguments: ["i32", "buffer", "u64", "i32", "buffer", "buffer"], return: "i64" },
  setsockopt: { arguments: ["i32", "i32", "i32", "buffer", "u32"], return: "i32" },
  if_nametoindex: { arguments: ["string"], return: "u32" },
});

const ownNetwork = openSync("/proc/self/ns/net", "r");

/**
 * Runs `work` in another namespace. Synchronous: a thread is in one namespace at a time, and Node's continues
 * after it.
 */
export function inNamespace<T>(name: string, work: () => T): T {
  const file = openSync(`/run/netns/${name}`, "r");
  try {
    must(c.setns(file, CLONE_NEWNET), `setns ${name}`);
    return work();
  } finally {
    must(c.setns(ownNetwork, CLONE_NEWNET), "setns back");
    closeSync(file);
  }
}

/** All frames that a device receives; what is written to it is sent by the device unchanged. */
export function frameSocket(device: string): number {
  const socket = must(c.socket(AF_PACKET, types.icmp | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "a packet socket");
  const address = Buffer.alloc(20);
  address.writeUInt16LE(AF_PACKET, 0);
  address.writeUInt16BE(ETH_P_ALL, 2);
  address.writeInt32LE(c.if_nametoindex(device), 4);
  option(socket, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
  // SO_RCVBUFFORCE: a burst must not be lost because of a small buffer.
  option(socket, SOL_SOCKET, 33, 8 << 20);
  must(c.bind(socket, address, address.length), `bind to ${device}`);
  return socket;
}

export function inetSocket(protocol: SocketProtocol, version: 4 | 6): number {
  const family = version === 4 ? AF_INET : AF_INET6;
  const number = protocol === "tcp" || protocol === "udp" ? 0 : protocols[protocol];
  return must(
    c.socket(family, types[protocol] | SOCK_NONBLOCK | SOCK_CLOEXEC, number),
    `a ${protocol} socket`,
  );
}

/** False when the address is not available. */
export const bindTo = (socket: number, address: string, port: number): boolean => {
  const place = socketAddress(address, port);
  return c.bind(socket, place, place.length) === 0;
};

export const listenOn = (socket: number): void => void must(c.listen(socket, 4096), "listen");

/** Begins a connection; the rest can be seen on the wire. */
export function beginToConnect(socket: number, address: string, port: number): void {
  const place = socketAddress(address, port);
  c.connect(socket, place, place.length);
}

export const acceptOne = (socket: number): number | null => {
  const accepted = c.accept4(socket, 0n, 0n, SOCK_NONBLOCK | SOCK_CLOEXEC);
  return accepted < 0 ? null : accepted;
};

/** Aborts a connection, and frees its port. */
export function abort(socket: number): void {
  const linger = Buffer.alloc(8);
  linger.writeInt32LE(1, 0);
  c.setsockopt(socket, SOL_SOCKET, 13, linger, linger.length);
  closeSync(socket);
}

export const close = (socket: number): void => closeSync(socket);

export const sendFrame = (socket: number, frame: Buffer): boolean =>
  c.send(socket, frame, BigInt(frame.length), MSG_DONTWAIT) === BigInt(frame.length);

export function sendTo(socket: number, bytes: Buffer, address: string, port: number): boolean {
  const place = socketAddress(address, port);
  return c.sendto(socket, bytes, BigInt(bytes.length), MSG_DONTWAIT, place, place.length) >= 0n;
}

const room = Buffer.alloc(65_536);

/** One waiting frame, if any; the bytes are valid until the next call. */
export function receive(socket: number): Buffer | null {
  const length = Number(c.recv(socket, room, BigInt(room.length), MSG_DONTWAIT));
  return length < 0 ? null : room.subarray(0, length);
}

const peer = Buffer.alloc(28);
const peerLength = Buffer.alloc(4);

/** Answers every datagram that waits with an empty one. */
export function answerDatagrams(socket: number): void {
  for (;;) {
    peerLength.writeUInt32LE(peer.length, 0);
    const length = c.recvfrom(socket, room, BigInt(room.length), MSG_DONTWAIT, peer, peerLength);
    if (length < 0n) return;
    c.sendto(socket, room, 0n, MSG_DONTWAIT, peer, peerLength.readUInt32LE(0));
  }
}

function option(socket: number, level: number, name: number, value: number): void {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value, 0);
  must(c.setsockopt(socket, level, name, bytes, bytes.length), `socket option ${level} ${name}`);
}

/** With a zone, `fe80::1%3`, by the number of its interface. */
function socketAddress(address: string, port: number): Buffer {
  const [host = "", zone = "0"] = address.split("%");
  if (isIPv4(host)) {
    const bytes = Buffer.alloc(16);
    bytes.writeUInt16LE(AF_INET, 0);
    bytes.writeUInt16BE(port, 2);
    ipBytes(host).copy(bytes, 4);
    return bytes;
  }
  const bytes = Buffer.alloc(28);
  bytes.writeUInt16LE(AF_INET6, 0);
  bytes.writeUInt16BE(port, 2);
  ipBytes(host).copy(bytes, 8);
  bytes.writeUInt32LE(Number(zone), 24);
  return bytes;
}

function must(result: number, what: string): number {
  if (result < 0) throw new Error(`${what} failed`);
  return result;
}

export const interfaceNumber = (device: string): number => c.if_nametoindex(device);
