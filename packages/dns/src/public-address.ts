import { BlockList, isIP } from "node:net";

/** Networks that no name server of the Internet has, as first address and prefix. */
const NOT_PUBLIC: readonly (readonly [address: string, prefix: number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
  ["2001:db8::", 32],
];

const notPublic = new BlockList();
for (const [address, prefix] of NOT_PUBLIC)
  notPublic.addSubnet(address, prefix, isIP(address) === 6 ? "ipv6" : "ipv4");
/** The only part of IPv6 that is given out; all else is local, multicast or leads to IPv4. */
const globalIpv6 = new BlockList();
globalIpv6.addSubnet("2000::", 3, "ipv6");
/** 6to4 and Teredo hold IPv4 addresses, which may be private ones. */
const tunnels = new BlockList();
tunnels.addSubnet("2002::", 16, "ipv6");
tunnels.addSubnet("2001::", 32, "ipv6");

/**
 * True for an address of the Internet. Delegations name any address that their owner likes, so the worker must not follow
 * them into the operator's own networks.
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !notPublic.check(address, "ipv4");
  return (
    family === 6 &&
    globalIpv6.check(address, "ipv6") &&
    !notPublic.check(address, "ipv6") &&
    !tunnels.check(address, "ipv6")
  );
}
