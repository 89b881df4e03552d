import { formatIp, formatIpBlock, parseIp, parseIpBlock } from "../public-ips/addresses.ts";
import { letAllIn } from "./let-in.ts";
import { noLinkAddresses } from "./link-addresses.ts";
import { peerLists } from "./peer-lists.ts";

/** A rule as a VM has it, in words that do not depend on how its hypervisor writes them. */
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

/** One line for a rule: of two rules the same when a packet cannot tell them apart, and they were made from one. */
export function ruleLine({ id, direction, action, protocol, ports, addresses, device }: VmRule): string {
  const whom = addresses === null ? "any" : [...new Set(addresses.map(oneWay))].sort().join(",");
  return [id, direction, action, protocol, ports.join(",") || "all", whom, device ?? "all"].join(" ");
}

/** One text for one block: a single address stands without its prefix; what is neither stands for itself. */
export function oneWay(text: string): string {
  const address = parseIp(text);
  if (address !== null) return formatIp(address);
  const block = parseIpBlock(text);
  return block === null ? text : formatIpBlock(block);
}

/**
 * The rules of a server's filter as its VM is to have them, among the platform's own: what is about the private side stands
 * for each device there, and everybody of one IP version has a rule of its own.
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
  const last = filter.is_filtered ? [] : [letAllIn];
  return [noLinkAddresses, ...filter.rules, ...last].flatMap(({ side, ...rule }) => {
    const inside = Array.from({ length: privateDevices }, (_, index) => `net${index}`);
    const devices = side === null ? [null] : side === "private" ? inside : [`net${privateDevices}`];
    return peerLists(rule.protocol, rule.addresses).flatMap((addresses) =>
      devices.map((device) => ruleLine({ ...rule, addresses, device })),
    );
  });
}
