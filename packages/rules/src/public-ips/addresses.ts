export type IpVersion = 4 | 6;

/** An address of either version as a number of 32 or 128 bits. */
export type IpAddress = { readonly version: IpVersion; readonly value: bigint };

/** First and last address, both included; of one version. */
export type IpRange = { readonly version: IpVersion; readonly first: bigint; readonly last: bigint };

/** The network that a pool's guests are in. */
export type IpNetwork = { readonly gateway: IpAddress; readonly prefixLength: number };

/** The most addresses of a range: each of them is a row. */
export const maxRangeSize = 16_384n;

const bitsOf = (version: IpVersion) => (version === 4 ? 32n : 128n);

/** Reads an address in any usual form; null when the text is none. IPv4 takes no leading zeros: they mean octal to some. */
export function parseIp(text: string): IpAddress | null {
  if (!text.includes(":")) {
    const value = parseFour(text);
    return value === null ? null : { version: 4, value };
  }
  const value = parseSix(text);
  return value === null ? null : { version: 6, value };
}

function parseFour(text: string): bigint | null {
  const octets = text.split(".");
  if (octets.length !== 4) return null;
  let value = 0n;
  for (const octet of octets) {
    if (!/^(0|[1-9]\d{0,2})$/.test(octet) || Number(octet) > 255) return null;
    value = value * 256n + BigInt(octet);
  }
  return value;
}

function parseSix(text: string): bigint | null {
  // The last 32 bits may be written as an IPv4 address.
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  if (dotted !== null) {
    const four = parseFour(dotted[2] ?? "");
    if (four === null) return null;
    return parseSix(`${dotted[1]}${(four >> 16n).toString(16)}:${(four & 0xffffn).toString(16)}`);
  }
  const [head = "", tail, ...more] = text.split("::");
  if (more.length > 0) return null;
  const groups = (part: string) => (part === "" ? [] : part.split(":"));
  const [left, right] = [groups(head), groups(tail ?? "")];
  const missing = 8 - left.length - right.length;
  if (tail === undefined ? missing !== 0 : missing < 1) return null;
  const all = [...left, ...Array<string>(missing).fill("0"), ...right];
  if (!all.every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group))) return null;
  return all.reduce((value, group) => value * 65_536n + BigInt(`0x${group}`), 0n);
}

/** The address as text: IPv6 in lower case, its longest run of zero groups as `::` (RFC 5952). */
export function formatIp({ version, value }: IpAddress): string {
  if (version === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join(".");
  const groups = Array.from({ length: 8 }, (_, index) => (value >> BigInt(112 - index * 16)) & 0xffffn);
  let [start, length] = [-1, 1];
  for (let from = 0; from < 8; from += 1) {
    let to = from;
    while (to < 8 && groups[to] === 0n) to += 1;
    if (to - from > length) [start, length] = [from, to - from];
  }
  const text = (part: readonly bigint[]) => part.map((group) => group.toString(16)).join(":");
  if (start < 0) return text(groups);
  return `${text(groups.slice(0, start))}::${text(groups.slice(start + length))}`;
}

/** Reads `203.0.113.0/25`; null when the text is no block or has host bits set. */
export function parseIpBlock(text: string): IpRange | null {
  const [addressText = "", lengthText = "", ...more] = text.split("/");
  const address = parseIp(addressText);
  if (address === null || more.length > 0 || !/^(0|[1-9]\d{0,2})$/.test(lengthText)) return null;
  const length = BigInt(lengthText);
  const bits = bitsOf(address.version);
  if (length > bits) return null;
  const size = 1n << (bits - length);
  if (address.value % size !== 0n) return null;
  return { version: address.version, first: address.value, last: address.value + size - 1n };
}

/** The block as text, `203.0.113.0/25`; of a single address that one alone. */
export function formatIpBlock({ version, first, last }: IpRange): string {
  const text = formatIp({ version, value: first });
  const bits = (last - first + 1n).toString(2).length - 1;
  return bits === 0 ? text : `${text}/${Number(bitsOf(version)) - bits}`;
}

export const rangeSize = ({ first, last }: IpRange): bigint => last - first + 1n;

/** All addresses of the network that the gateway is in. */
export function networkRange({ gateway, prefixLength }: IpNetwork): IpRange {
  const size = 1n << (bitsOf(gateway.version) - BigInt(prefixLength));
  const first = (gateway.value / size) * size;
  return { version: gateway.version, first, last: first + size - 1n };
}

export function isWithin(range: IpRange, outer: IpRange): boolean {
  return range.version === outer.version && range.first >= outer.first && range.last <= outer.last;
}

/**
 * The addresses of the network that no guest can have: the network's own and the gateway, and with IPv4 the broadcast
 * address. A /31 has two addresses and neither of the two special ones (RFC 3021).
 */
export function reservedAddresses(network: IpNetwork): bigint[] {
  const { first, last } = networkRange(network);
  const { version, value: gateway } = network.gateway;
  if (version === 6) return first === gateway ? [gateway] : [first, gateway];
  return network.prefixLength >= 31 ? [gateway] : [...new Set([first, gateway, last])];
}

/** No hypervisor gives a guest a larger network. */
const shortestPrefix = 8;

/** Why the prefix cannot be a guest's, or null when it can. */
export function prefixProblem({ gateway, prefixLength }: IpNetwork): string | null {
  const longest = gateway.version === 4 ? 31 : 127;
  if (prefixLength < shortestPrefix || prefixLength > longest)
    return `must be from ${shortestPrefix} to ${longest} with an IPv${gateway.version} gateway: guests reach it in their own network`;
  return null;
}

/** Why the gateway's address is impossible in that network, or null when it is possible. */
export function gatewayProblem(network: IpNetwork): string | null {
  const { version, value } = network.gateway;
  if (version === 6 || network.prefixLength >= 31) return null;
  const { first, last } = networkRange(network);
  if (value === first) return "is the network's own address, which no machine can have";
  return value === last ? "is the network's broadcast address, which no machine can have" : null;
}

/**
 * True for an address that could never be a guest's, in whatever network: unspecified, loopback, multicast, link-local, and
 * an IPv4 address written as an IPv6 one.
 */
export function isSpecial({ version, value }: IpAddress): boolean {
  if (version === 4) {
    const first = value >> 24n;
    return first === 0n || first === 127n || first >= 224n || value >> 16n === 0xa9fen;
  }
  const isIpv4Inside = value >> 32n === 0n || value >> 32n === 0xffffn;
  return isIpv4Inside || value >> 120n === 0xffn || value >> 118n === 0x3fan;
}
