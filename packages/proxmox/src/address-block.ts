import { isIP, SocketAddress } from "node:net";

/**
 * One text for one block of addresses, to compare what was written with what is listed. A single address is
 * written without its prefix, which is /32 with IPv4 and /128 with IPv6. Other text stays as it is.
 */
export function canonicalBlock(text: string): string {
  const [address = "", prefix, ...more] = text.split("/");
  const version = isIP(address);
  if (version === 0 || more.length > 0 || !/^\d{1,3}$/.test(prefix ?? "0")) return text;
  const family = version === 4 ? "ipv4" : "ipv6";
  const canonical = new SocketAddress({ address, family }).address;
  const whole = version === 4 ? 32 : 128;
  return Number(prefix ?? whole) === whole ? canonical : `${canonical}/${Number(prefix)}`;
}
