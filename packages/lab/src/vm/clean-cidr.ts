import { isIPv4, SocketAddress } from "node:net";

/**
 * A block as Proxmox VE stores it in an ipset: host bits are cut off, IPv6 is compressed, and a full prefix
 * is left out. 10.0.0.11/24 is 10.0.0.0/24, 2001:db8:0::1/32 is 2001:db8::/32, 10.0.0.1/32 is 10.0.0.1. An
 * address without a prefix stays as it was written.
 */
export function cleanCidr(cidr: string): string {
  const [address = "", prefix] = cidr.split("/");
  if (prefix === undefined) return cidr;
  const { isFour, value, hostBits } = readBlock(address, prefix);
  const first = (value >> hostBits) << hostBits;
  const clean = isFour ? textOfFour(first) : textOfSix(first);
  return hostBits === 0n ? clean : `${clean}/${prefix}`;
}

/** Whether the block's address is another one than its first. */
export function hasHostBits(cidr: string): boolean {
  const [address = "", prefix] = cidr.split("/");
  if (prefix === undefined) return false;
  const { value, hostBits } = readBlock(address, prefix);
  return (value >> hostBits) << hostBits !== value;
}

function readBlock(address: string, prefix: string) {
  const isFour = isIPv4(address);
  const value = isFour ? valueOfFour(address) : valueOfSix(address);
  return { isFour, value, hostBits: (isFour ? 32n : 128n) - BigInt(prefix) };
}

const valueOfFour = (address: string): bigint =>
  address.split(".").reduce((value, octet) => value * 256n + BigInt(octet), 0n);

const textOfFour = (value: bigint): string =>
  [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join(".");

function valueOfSix(address: string): bigint {
  const dotted = /[^:]*\.[^:]*$/.exec(address)?.[0];
  const four = dotted === undefined ? 0n : valueOfFour(dotted);
  const text =
    dotted === undefined
      ? address
      : `${address.slice(0, -dotted.length)}${(four >> 16n).toString(16)}:${(four & 0xffffn).toString(16)}`;
  const [left = [], right = []] = text.split("::").map((half) => (half === "" ? [] : half.split(":")));
  const zeros = Array<string>(8 - left.length - right.length).fill("0");
  return [...left, ...zeros, ...right].reduce((value, group) => value * 65_536n + BigInt(`0x${group}`), 0n);
}

function textOfSix(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, index) => (value >> BigInt(112 - index * 16)) & 0xffffn);
  return new SocketAddress({ family: "ipv6", address: groups.map((group) => group.toString(16)).join(":") })
    .address;
}
