import { isIP, isIPv4 } from "node:net";
import type { FirewallDocument, FirewallRule, IpSetEntry } from "../documents.ts";
import { linkLocal } from "../vm/guest.ts";
import type { FilteredWire } from "./wired-machines.ts";

/*
 * The firewall of a node as rules of nft, in the order in which pve-firewall writes its own: established
 * flows pass; of the rest a frame that leaves a guest must have its MAC and one of its addresses, then the
 * VM's rules are evaluated from the top, then its policy. One table of conntrack for all firewall bridges, as
 * a node has it.
 */

/** Set where a frame enters a firewall bridge: from the guest, or towards it. */
const FROM_GUEST = 1;
const TO_GUEST = 2;

export const tapOf = ({ vmid, index }: Pick<FilteredWire, "vmid" | "index">): string => `tap${vmid}i${index}`;
export const firewallBridgeOf = ({ vmid, index }: Pick<FilteredWire, "vmid" | "index">): string =>
  `fwbr${vmid}i${index}`;

/** The whole ruleset, replaced in one transaction; with no wires it allows everything. */
export function firewallRules(wires: readonly FilteredWire[], isClusterOn: boolean): string {
  const chains = wires.flatMap((wire) => [
    chain(`${tapOf(wire)}-out`, outgoing(wire)),
    chain(`${tapOf(wire)}-in`, incoming(wire)),
  ]);
  const jumps = wires.flatMap((wire) => [
    `    meta mark ${FROM_GUEST} iifname "${firewallBridgeOf(wire)}" goto ${tapOf(wire)}-out`,
    `    meta mark ${TO_GUEST} iifname "${firewallBridgeOf(wire)}" goto ${tapOf(wire)}-in`,
  ]);
  return `${[
    "add table inet pve",
    "delete table inet pve",
    "add table bridge pve",
    "delete table bridge pve",
    "table bridge pve {",
    "  chain prerouting {",
    "    type filter hook prerouting priority -400; policy accept;",
    "    meta mark set 0",
    // Devices without a firewall are on the cluster's bridges.
    ...wires.map((wire) => `    iifname "${tapOf(wire)}" meta mark set ${FROM_GUEST}`),
    `    iifname "fwln*" meta mark set ${TO_GUEST}`,
    "  }",
    "  chain forward {",
    "    type filter hook forward priority -200; policy accept;",
    "    ether type ip accept",
    "    ether type ip6 accept",
    ...wires.flatMap(layer2),
    "  }",
    "}",
    "table inet pve {",
    ...chains,
    // Frames on the cluster's bridges are in no VM's firewall: to conntrack the bridges are switches.
    "  chain prerouting {",
    "    type filter hook prerouting priority -300; policy accept;",
    "    meta mark 0 notrack",
    "  }",
    "  chain forward {",
    "    type filter hook forward priority 0; policy accept;",
    ...(isClusterOn ? ["    ct state invalid drop", "    ct state established,related accept"] : []),
    ...jumps,
    "  }",
    "}",
  ].join("\n")}\n`;
}

const chain = (name: string, rules: readonly string[]): string =>
  [`  chain ${name} {`, ...rules.map((rule) => `    ${rule}`), "  }"].join("\n");

const isOn = (options: FirewallDocument["options"], key: string, otherwise: boolean): boolean =>
  options[key] === undefined ? otherwise : options[key] === "1";

/** Frames that are neither IPv4 nor IPv6: the MAC, and the address that an ARP packet claims. */
function layer2(wire: FilteredWire): string[] {
  const { options, ipsets } = wire.firewall;
  const from = `    iifname "${tapOf(wire)}"`;
  const own = ofFamily(ipsets[`ipfilter-net${wire.index}`]?.entries ?? [], 4, false);
  return [
    ...(isOn(options, "macfilter", true) ? [`${from} ether saddr != ${wire.mac} drop`] : []),
    ...(own.length > 0 ? [`${from} ether type arp ${noneOf("arp saddr ip", own)} drop`] : []),
  ];
}

function outgoing(wire: FilteredWire): string[] {
  const { firewall, mac, index } = wire;
  const { options } = firewall;
  return [
    ...(isOn(options, "dhcp", true)
      ? ["udp sport 68 udp dport 67 accept", "udp sport 546 udp dport 547 accept"]
      : []),
    ...(isOn(options, "macfilter", true) ? [`ether saddr != ${mac} drop`] : []),
    ...(isOn(options, "radv", false) ? [] : ["icmpv6 type nd-router-advert drop"]),
    ...addressFilter(wire),
    ...neighbourDiscovery(options, "out"),
    ...rulesOf(firewall, "out", index),
    ...policy(options.policy_out ?? "ACCEPT"),
  ];
}

function incoming({ firewall, index }: FilteredWire): string[] {
  const { options } = firewall;
  return [
    ...(isOn(options, "dhcp", true)
      ? ["udp sport 67 udp dport 68 accept", "udp sport 547 udp dport 546 accept"]
      : []),
    ...neighbourDiscovery(options, "in"),
    ...rulesOf(firewall, "in", index),
    ...policy(options.policy_in ?? "DROP"),
  ];
}

/** Without the interface's own set the option `ipfilter` leaves a guest its link-local address and nothing else. */
function addressFilter({ firewall, mac, index }: FilteredWire): string[] {
  const own = firewall.ipsets[`ipfilter-net${index}`];
  if (own === undefined && !isOn(firewall.options, "ipfilter", false)) return [];
  const entries = [...(own?.entries ?? []), { cidr: linkLocal(mac), nomatch: false, comment: null }];
  return ([4, 6] as const).map((family) => `${notIn(entries, family, "saddr")} drop`);
}

function neighbourDiscovery(options: FirewallDocument["options"], direction: "in" | "out"): string[] {
  if (!isOn(options, "ndp", true)) return [];
  const adverts = direction === "in" || isOn(options, "radv", false) ? ["nd-router-advert"] : [];
  const types = ["nd-router-solicit", ...adverts, "nd-neighbor-solicit", "nd-neighbor-advert"];
  return anyOf("icmpv6 type", types).map((match) => `${match} accept`);
}

function policy(action: string): string[] {
  if (action === "ACCEPT") return ["accept"];
  // PVEFW-Drop: what a path needs to work is not dropped with the rest.
  return [
    "icmp type destination-unreachable icmp code frag-needed accept",
    "icmp type time-exceeded accept",
    ...verdict(action),
  ];
}

const verdict = (action: string): string[] => {
  if (action === "ACCEPT") return ["accept"];
  return action === "REJECT" ? ["meta l4proto tcp reject with tcp reset", "reject"] : ["drop"];
};

function rulesOf(firewall: FirewallDocument, direction: "in" | "out", index: number): string[] {
  return firewall.rules
    .filter(
      ({ type, enable, iface }) =>
        type === direction && enable === "1" && (iface ?? `net${index}`) === `net${index}`,
    )
    .flatMap((rule) => ruleOf(firewall, rule));
}

/** One rule of the VM; nothing for what pve-firewall would only warn of, and for macros, which have no wires. */
function ruleOf(firewall: FirewallDocument, rule: FirewallRule): string[] {
  if (rule.macro !== undefined) return [];
  const ports = portsOf(rule);
  if (ports === null) return [];
  return familiesOf(rule.proto).flatMap((family) => {
    const from = addressesOf(firewall, rule.source, family, "saddr");
    const to = addressesOf(firewall, rule.dest, family, "daddr");
    const matches = allOf([[`meta nfproto ipv${family}`], from, to, ports]);
    return matches.flatMap((match) => verdict(rule.action ?? "DROP").map((then) => `${match} ${then}`));
  });
}

function familiesOf(proto: string | undefined): readonly (4 | 6)[] {
  if (proto === "icmp") return [4];
  return proto === "icmpv6" || proto === "ipv6-icmp" ? [6] : [4, 6];
}

/** Matches for a rule's source or destination, any of which is enough; none when it can match nothing of this family. */
function addressesOf(
  firewall: FirewallDocument,
  text: string | undefined,
  family: 4 | 6,
  side: "saddr" | "daddr",
): string[] {
  if (text === undefined) return [""];
  const field = `${family === 4 ? "ip" : "ip6"} ${side}`;
  const name = /^\+(?:guest\/)?([A-Za-z][\w-]*)$/.exec(text)?.[1];
  if (name !== undefined) {
    const entries = firewall.ipsets[name]?.entries ?? [];
    const except = noneOf(field, ofFamily(entries, family, true));
    return allOf([anyOf(field, ofFamily(entries, family, false)), [except]]);
  }
  const parts = text
    .split(",")
    .filter((part) => isIP(part.split(/[/-]/)[0] ?? "") === family && isRange(part));
  return anyOf(field, parts);
}

/** Matches for protocol and ports, any of which is enough; null when the lab cannot express them. */
function portsOf({ proto, sport, dport, "icmp-type": icmpType }: FirewallRule): string[] | null {
  if (proto === undefined) return [""];
  if (proto === "tcp" || proto === "udp") {
    const ofSide = (side: "sport" | "dport", ports: string | undefined) =>
      ports === undefined ? [""] : anyOf(`${proto} ${side}`, ports.replaceAll(":", "-").split(","));
    return allOf([[`meta l4proto ${proto}`], ofSide("sport", sport), ofSide("dport", dport)]);
  }
  if (proto === "icmp" || proto === "icmpv6" || proto === "ipv6-icmp") {
    const family = proto === "icmp" ? "icmp" : "icmpv6";
    const number = proto === "icmp" ? 1 : 58;
    if (icmpType === undefined || icmpType === "any") return [`meta l4proto ${number}`];
    return /^[a-z0-9-]+$/.test(icmpType) ? [`${family} type ${icmpType}`] : null;
  }
  return /^\d{1,3}$/.test(proto) ? [`meta l4proto ${proto}`] : null;
}

/*
 * Each member is a match of its own. A kernel may fill a new set only after the rules that use it are in
 * force: a packet in between is in none, and would be dropped by a change of rules that allows it before and
 * after. No node's firewall does that, because its sets are swapped as a whole.
 */

/** Matches, any of which is enough, for one of the members. */
const anyOf = (field: string, members: readonly string[]): string[] =>
  members.map((member) => `${field} ${member}`);

/** One match, for none of the members; empty where there are none. */
const noneOf = (field: string, members: readonly string[]): string => anyOf(`${field} !=`, members).join(" ");

/** Of each the one or the other. */
function allOf(each: readonly (readonly string[])[]): string[] {
  return each.reduce<string[]>(
    (before, matches) =>
      before.flatMap((left) => matches.map((right) => [left, right].filter(Boolean).join(" "))),
    [""],
  );
}

const isV4 = (cidr: string): boolean => isIPv4(cidr.split("/")[0] ?? "");
const isRange = (text: string): boolean =>
  text.split("-").every((end) => isIP(end.split("/")[0] ?? "") !== 0);

const ofFamily = (entries: readonly IpSetEntry[], family: 4 | 6, nomatch: boolean): string[] =>
  entries
    .filter((each) => each.nomatch === nomatch && isV4(each.cidr) === (family === 4))
    .map(({ cidr }) => cidr);

/** Every source of the family but those of the set. */
function notIn(entries: readonly IpSetEntry[], family: 4 | 6, side: "saddr"): string {
  const members = ofFamily(entries, family, false);
  if (members.length === 0) return `meta nfproto ipv${family}`;
  return noneOf(`${family === 4 ? "ip" : "ip6"} ${side}`, members);
}
