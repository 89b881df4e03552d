import { isIP } from "node:net";

/**
 * The unit that limits by address count: an IPv4 address, or the /64 of an IPv6 one. Every household and
 * every rented server has a whole /64, so counting single addresses would limit nothing.
 */
export function networkOf(address: string): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined && isIP(mapped) === 4) return mapped;
  if (isIP(address) !== 6) return address;
  const [withoutZone] = address.split("%");
  const [head = "", tail] = new URL(`http://[${withoutZone}]/`).hostname.slice(1, -1).split("::");
  const groups = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: 8 - groups.length - after.length }, () => "0");
  return `${[...groups, ...zeros, ...after].slice(0, 4).join(":")}::/64`;
}
