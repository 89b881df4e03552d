import { formatIp, formatIpBlock, parseIp, parseIpBlock } from "../public-ips/addresses.ts";
import { allowAllInbound } from "./allow-all-inbound.ts";
import { noLinkAddresses } from "./link-addresses.ts";
import { peerLists } from "./peer-lists.ts";

/** A rule as a VM has it, in a form that does not depend on its hypervisor. */
export type VmRule = {
  readonly id: string;
  readonly direction: "in" | "out";
  readonly action: "allow" | "deny";
  readonly protocol: string;
  readonly ports: readonly string[];
  /** Null: any. */
  readonly addresses: readonly string[] | null;
  /** The VM's device; null for all of them. */
  readonly device: string | null;
};

/**
 * One line for a rule: the same for two rules when a packet cannot distinguish them, and they have one
 * origin.
 */
export function ruleLine({ id, direction, action, protocol, ports, addresses, device }: VmRule): string {
  const whom = addresses === null ? "any" : [...new Set(addresses.map(oneWay))].sort().join(",");
  return [id, direction, action, protocol, ports.join(",") || "all", whom, device ?? "all"].join(" ");
}

/** One text for one block: a single address is written without its prefix; other text stays as it is. */
export function oneWay(text: string): string {
  const address = parseIp(text);
  if (address !== null) return formatIp(address);
  const block = parseIpBlock(text);
  return block === null ? text : formatIpBlock(block);
}

/**
 * The rules of a server's filter as its VM should have them, together with the platform's: a rule for the
 * private side is repeated for each interface there, and all addresses of one IP version are a rule of their
 * own.
 *
 * @param privateDevices how many there are; the public one comes after them
 */
export function linesOfFilter(
  filter: {
    readonly is_filtered: boolean;
    readonly rules: readonly (Omit<VmRule, "device"> & { readonly side: "private" | "public" | null })[];
  },
  privateDevices: number,
): string[] {
  const last = filter.is_filtered ? [] : [allowAllInbound];
  return [noLinkAddresses, ...filter.rules, ...last].flatMap(({ side, ...rule }) => {
    const inside = Array.from({ length: privateDevices }, (_, index) => `net${index}`);
    const devices = side === null ? [null] : side === "private" ? inside : [`net${privateDevices}`];
    return peerLists(rule.protocol, rule.addresses).flatMap((addresses) =>
      devices.map((device) => ruleLine({ ...rule, addresses, device })),
    );
  });
}
