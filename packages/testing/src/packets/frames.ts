// Frames byte by byte: what a guest with root access in its VM may send, and what leaves a VM.

import { isIPv4 } from "node:net";

/**
 * A packet's number in a volley: its source port, or the id of an echo, which nothing on the way changes;
 * where there is neither it follows {@link token} in the payload.
 */
export const firstFlow = 10_000;
export const lastFlow = 59_999;
const token = "KULE";

const isFlow = (number: number) => number >= firstFlow && number <= lastFlow;

export function tokenOf(flow: number): Buffer {
  const bytes = Buffer.alloc(token.length + 2);
  bytes.write(token);
  bytes.writeUInt16BE(flow, token.length);
  return bytes;
}

const etherTypes = {
  ip: 0x0800,
  arp: 0x0806,
  vlan: 0x8100,
  ip6: 0x86dd,
  pppoe: 0x8864,
  "802.1ad": 0x88a8,
  /** Reserved for experiments: not in use. */
  nobodys: 0x88b5,
} as const;

/** Of 802.1Q: the VLAN below, and above it the three bits of the priority. */
export type Tag = number | { readonly is: "802.1ad"; readonly vlan: number };

/** The outermost tag first. */
export type Ethernet = { readonly from: string; readonly to: string; readonly tags?: readonly Tag[] };

const fragmentHeader = 44;

const macBytes = (mac: string) => Buffer.from(mac.replaceAll(":", ""), "hex");
const u16 = (...values: readonly number[]) => {
  const bytes = Buffer.alloc(values.length * 2);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, index * 2);
  return bytes;
};

export function ethernet(
  { from, to, tags = [] }: Ethernet,
  type: keyof typeof etherTypes,
  body: Buffer,
): Buffer {
  const head = [
    macBytes(to),
    macBytes(from),
    ...tags.map((tag) =>
      typeof tag === "number" ? u16(etherTypes.vlan, tag) : u16(etherTypes[tag.is], tag.vlan),
    ),
  ];
  const frame = Buffer.concat([...head, u16(etherTypes[type]), body]);
  return frame.length >= 60 ? frame : Buffer.concat([frame, Buffer.alloc(60 - frame.length)]);
}

export type IpHeader = {
  readonly source: string;
  readonly destination: string;
  readonly hops?: number;
  /** In bytes, of one of several fragments; IPv4 alone. */
  readonly fragment?: { readonly id: number; readonly offset: number; readonly isLast: boolean };
};

export function ip(
  { source, destination, hops = 64, fragment }: IpHeader,
  protocol: number,
  body: Buffer,
): Buffer {
  if (!isIPv4(source)) {
    const head = Buffer.alloc(8);
    head.writeUInt8(0x60, 0);
    head.writeUInt16BE(body.length, 4);
    head.writeUInt8(protocol, 6);
    head.writeUInt8(hops, 7);
    return Buffer.concat([head, ipBytes(source), ipBytes(destination), body]);
  }
  const head = Buffer.alloc(12);
  head.writeUInt8(0x45, 0);
  head.writeUInt16BE(20 + body.length, 2);
  head.writeUInt16BE(fragment?.id ?? 1, 4);
  if (fragment !== undefined) head.writeUInt16BE((fragment.isLast ? 0 : 0x2000) | (fragment.offset / 8), 6);
  head.writeUInt8(hops, 8);
  head.writeUInt8(protocol, 9);
  const whole = Buffer.concat([head, ipBytes(source), ipBytes(destination)]);
  whole.writeUInt16BE(checksum(whole), 10);
  return Buffer.concat([whole, body]);
}

export function udp(
  header: IpHeader,
  ports: { readonly from: number; readonly to: number },
  body: Buffer,
): Buffer {
  const datagram = Buffer.concat([u16(ports.from, ports.to, 8 + body.length, 0), body]);
  const sum = checksum(Buffer.concat([pseudo(header, 17, datagram.length), datagram]));
  datagram.writeUInt16BE(sum === 0 ? 0xffff : sum, 6);
  return datagram;
}

/** A packet of IPv4 in a session of PPPoE. */
export const inSession = (packet: Buffer): Buffer =>
  Buffer.concat([Buffer.from([0x11, 0]), u16(1, packet.length + 2, 0x0021), packet]);

/** The first segment of a connection. */
export function syn(header: IpHeader, ports: { readonly from: number; readonly to: number }): Buffer {
  const segment = Buffer.concat([u16(ports.from, ports.to), Buffer.alloc(8), u16(0x5002, 64_000, 0, 0)]);
  segment.writeUInt32BE(ports.from * 7919, 4);
  segment.writeUInt16BE(checksum(Buffer.concat([pseudo(header, 6, segment.length), segment])), 16);
  return segment;
}

/** ICMP or, between addresses of version 6, ICMPv6: type, code and what follows the checksum. */
export function icmp(header: IpHeader, type: number, code: number, body: Buffer): Buffer {
  const message = Buffer.concat([Buffer.from([type, code, 0, 0]), body]);
  const before = isIPv4(header.source) ? Buffer.alloc(0) : pseudo(header, 58, message.length);
  message.writeUInt16BE(checksum(Buffer.concat([before, message])), 2);
  return message;
}

/** The part after the checksum of an echo. */
export const echo = (flow: number, bytes = 0): Buffer =>
  Buffer.concat([u16(flow, 1), tokenOf(flow), Buffer.alloc(bytes)]);

export type Arp = {
  readonly operation: "request" | "reply";
  readonly senderMac: string;
  readonly senderIp: string;
  readonly targetMac: string;
  readonly targetIp: string;
};

/** Its number follows in the padding of the frame. */
export function arp({ operation, senderMac, senderIp, targetMac, targetIp }: Arp, flow: number): Buffer {
  return Buffer.concat([
    u16(1, etherTypes.ip, 0x0604, operation === "request" ? 1 : 2),
    ...[macBytes(senderMac), ipBytes(senderIp), macBytes(targetMac), ipBytes(targetIp), tokenOf(flow)],
  ]);
}

export type Sighting = {
  readonly flow: number;
  readonly is: "packet" | "answer";
  /** The MAC that the frame is for. */
  readonly to: string;
};

/** Which packet of the volley a frame is, or the answer to which; null when it is none of either. */
export function sightingOf(frame: Buffer): Sighting | null {
  const to = macText(frame.subarray(0, 6));
  const found = numberOf(frame);
  if (found !== null) return { ...found, to };
  const at = frame.indexOf(token, 14);
  if (at < 0 || at + token.length + 2 > frame.length) return null;
  return { flow: frame.readUInt16BE(at + token.length), is: "packet", to };
}

/** By its ports or its id; null of what has none, which a later fragment has not. */
function numberOf(frame: Buffer): Pick<Sighting, "flow" | "is"> | null {
  const packet = packetIn(frame);
  if (packet === null) return null;
  const { isV4, protocol, body } = packet;
  if ((protocol === 6 || protocol === 17) && body.length >= 4) {
    const [from, back] = [body.readUInt16BE(0), body.readUInt16BE(2)];
    // For TCP the request for a connection counts, and its acceptance: no other segment.
    const flags = protocol === 6 && body.length > 13 ? body.readUInt8(13) & 0x16 : null;
    if (isFlow(from)) return flags === null || flags === 0x02 ? { flow: from, is: "packet" } : null;
    const isAnswer = flags === null || flags === 0x12;
    return isFlow(back) && isAnswer ? { flow: back, is: "answer" } : null;
  }
  if ((protocol === 1 || protocol === 58) && body.length >= 6) {
    const kind = body.readUInt8(0);
    const [request, reply] = isV4 ? [8, 0] : [128, 129];
    const flow = body.readUInt16BE(4);
    if ((kind === request || kind === reply) && isFlow(flow))
      return { flow, is: kind === request ? "packet" : "answer" };
  }
  return null;
}

type Packet = { readonly isV4: boolean; readonly protocol: number; readonly body: Buffer };

/** The packet of a frame, or its first fragment. */
function packetIn(frame: Buffer): Packet | null {
  const type = frame.readUInt16BE(12);
  if (type === etherTypes.ip && frame.length >= 34) {
    const isLater = (frame.readUInt16BE(20) & 0x1fff) > 0;
    const body = frame.subarray(14 + (frame.readUInt8(14) & 15) * 4);
    return isLater ? null : { isV4: true, protocol: frame.readUInt8(23), body };
  }
  if (type !== etherTypes.ip6 || frame.length < 62) return null;
  const protocol = frame.readUInt8(20);
  if (protocol !== fragmentHeader) return { isV4: false, protocol, body: frame.subarray(54) };
  const isLater = frame.readUInt16BE(56) >>> 3 > 0;
  return isLater ? null : { isV4: false, protocol: frame.readUInt8(54), body: frame.subarray(62) };
}

/** The source address of a packet; null when it has none. */
export function sourceOf(frame: Buffer): Buffer | null {
  const type = frame.readUInt16BE(12);
  if (type === etherTypes.ip) return frame.subarray(26, 30);
  return type === etherTypes.ip6 ? frame.subarray(22, 38) : null;
}

/** ICMP messages about another packet, which they quote. */
export function quotesAnother(frame: Buffer): boolean {
  const packet = packetIn(frame);
  if (packet === null || packet.body.length === 0) return false;
  const kind = packet.body.readUInt8(0);
  if (packet.isV4) return packet.protocol === 1 && [3, 11, 12].includes(kind);
  return packet.protocol === 58 && kind < 128;
}

const macText = (bytes: Buffer) => [...bytes].map((each) => each.toString(16).padStart(2, "0")).join(":");

function pseudo({ source, destination }: IpHeader, protocol: number, length: number): Buffer {
  const tail = isIPv4(source) ? u16(protocol, length) : Buffer.concat([u16(0, length, 0), u16(protocol)]);
  return Buffer.concat([ipBytes(source), ipBytes(destination), tail]);
}

function checksum(bytes: Buffer): number {
  let sum = 0;
  for (let at = 0; at < bytes.length; at += 2)
    sum += (bytes.readUInt8(at) << 8) + (at + 1 < bytes.length ? bytes.readUInt8(at + 1) : 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

/** An address of either version as it is in a packet. */
export function ipBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  const [head = "", tail] = address.split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const [before, after] = [groups(head), groups(tail ?? "")];
  const middle =
    tail === undefined ? [] : Array.from({ length: 8 - before.length - after.length }, () => "0");
  return u16(...[...before, ...middle, ...after].map((group) => Number.parseInt(group, 16)));
}
