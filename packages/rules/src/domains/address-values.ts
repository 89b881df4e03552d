import { formatIp, parseIp } from "../public-ips/addresses.ts";
import { flawed, type Reading, readAs, shown } from "./problem.ts";

export type AddressRule = "address" | "leading_zeros" | "ipv4_mapped" | "server_reference";

const referencePrefix = "auto:";

/** The server whose addresses the value stands for (`auto:srv_…`); null for every other value. */
export function referencedServer(value: string): string | null {
  return value.startsWith(referencePrefix) ? value.slice(referencePrefix.length) : null;
}

/** A value of A: `192.0.2.1`, or `auto:srv_…`. */
export function readIpv4Value(text: string): Reading<string, AddressRule> {
  const typed = text.trim();
  if (referencedServer(typed) !== null) return readReference(typed);
  const address = parseIp(typed);
  if (address?.version === 4) return readAs(formatIp(address));
  if (address?.version === 6)
    return flawed("address", `${shown(typed)} is an IPv6 address`, `Enter it in a record set of type AAAA`);
  const shorter = parseIp(typed.slice(0, 40).replace(/(^|\.)0+(?=\d)/g, "$1"));
  if (shorter !== null)
    // Some programs take such numbers as octal.
    return flawed("leading_zeros", `${shown(typed)} has leading zeros`, `Enter ${formatIp(shorter)}`);
  return flawed("address", `${shown(typed)} is not an IPv4 address`, "Enter an address such as 192.0.2.1");
}

/** A value of AAAA in the form of RFC 5952, or `auto:srv_…`. */
export function readIpv6Value(text: string): Reading<string, AddressRule> {
  const typed = text.trim();
  if (referencedServer(typed) !== null) return readReference(typed);
  const address = parseIp(typed);
  if (address === null)
    return flawed(
      "address",
      `${shown(typed)} is not an IPv6 address`,
      "Enter an address such as 2001:db8::1",
    );
  if (address.version === 4)
    return flawed("address", `${shown(typed)} is an IPv4 address`, "Enter it in a record set of type A");
  if (address.value >> 32n === 0xffffn) {
    const inside = formatIp({ version: 4, value: address.value & 0xffff_ffffn });
    return flawed(
      "ipv4_mapped",
      `${shown(typed)} is an IPv4 address in the form of IPv6`,
      `Enter ${inside} in a record set of type A`,
    );
  }
  return readAs(formatIp(address));
}

function readReference(typed: string): Reading<string, AddressRule> {
  if (/^auto:srv_[0-9a-z]{1,60}$/.test(typed)) return readAs(typed);
  return flawed(
    "server_reference",
    `${shown(typed)} names no server`,
    "Enter auto: and the id of a server, such as auto:srv_06ex2v3m8n4k6q1r5s7t9w0y2z",
  );
}
