// The firewall of a server's VM, computed from the job alone: anti-spoofing for its guest, and the rules of
// the firewalls that are attached to the server.

import { createHash } from "node:crypto";
import type { PayloadOf } from "@kule/contract/schemas";
import type { DesiredFirewall } from "@kule/proxmox/vm-firewall";
import type { FirewallRuleText } from "@kule/proxmox/vm-firewall-rule";
import { allowAllInbound } from "@kule/rules/firewalls/allow-all-inbound";
import { noLinkAddresses } from "@kule/rules/firewalls/link-addresses";
import { peerLists } from "@kule/rules/firewalls/peer-lists";
import { Failed } from "../errors.ts";
import { addressFilter, type InterfacesPayload, publicIndex } from "../servers/public-interface.ts";

export type Filter = NonNullable<PayloadOf<"FirewallApply">["filter"]>;
export type FilteredPayload = InterfacesPayload & { readonly filter?: Filter };

/** Throws Failed for a filter that cannot be expressed in the hypervisor's terms. */
export function desiredFirewall(payload: FilteredPayload): DesiredFirewall {
  const base = addressFilter(payload);
  const { filter } = payload;
  const ipsets: Record<string, readonly string[]> = { ...base.ipsets };
  const last = filter?.is_filtered === true ? [] : [allowAllInbound];
  const rules = [noLinkAddresses, ...(filter?.rules ?? []), ...last].flatMap((rule) => {
    requireAddresses(rule);
    return peerLists(rule.protocol, rule.addresses).flatMap((addresses) => {
      const peer = addresses === null ? {} : peerOf(rule, addresses, ipsets);
      return interfacesOf(rule.side, payload).map((iface) => ruleText(rule, peer, iface));
    });
  });
  return { ...base, ipsets, rules };
}

type Rule = Filter["rules"][number] | typeof noLinkAddresses | typeof allowAllInbound;
type Peer = Pick<FirewallRuleText, "source" | "dest">;

function requireAddresses({ id, addresses }: Rule): void {
  const odd = addresses?.find((each) => !/^[0-9a-fA-F:.]+(\/\d{1,3})?$/.test(each));
  if (odd !== undefined || addresses?.length === 0) throw badRule(id, `is about ${odd ?? "nobody"}`);
}

/** Several addresses are a set, named after its content: live rules never use a set that changes. */
function peerOf(
  { direction }: Rule,
  addresses: readonly string[],
  ipsets: Record<string, readonly string[]>,
): Peer {
  const sorted = [...addresses].sort();
  const [only] = sorted;
  let name = only ?? "";
  if (sorted.length > 1) {
    const digest = createHash("sha256").update(sorted.join(" ")).digest("hex").slice(0, 16);
    ipsets[`kule-${digest}`] = sorted;
    name = `+kule-${digest}`;
  }
  return direction === "in" ? { source: name } : { dest: name };
}

/** The VM's interfaces of a side; null stands for all of them. */
function interfacesOf(side: Rule["side"], payload: InterfacesPayload): (string | null)[] {
  if (side === null) return [null];
  if (side === "private") return payload.interfaces.map((_, index) => `net${index}`);
  return (payload.public_interface ?? null) === null ? [] : [`net${publicIndex(payload)}`];
}

const PROTOCOLS: Readonly<Record<Rule["protocol"], string | null>> = {
  tcp: "tcp",
  udp: "udp",
  icmp: "icmp",
  icmpv6: "icmpv6",
  any: null,
};

function ruleText(rule: Rule, peer: Peer, iface: string | null): FirewallRuleText {
  const { id, direction, action, protocol, ports } = rule;
  if (!/^[a-z0-9_]{1,60}$/.test(id)) throw badRule("?", "has no id");
  const proto = PROTOCOLS[protocol];
  if (ports.some((each) => !/^\d{1,5}(-\d{1,5})?$/.test(each)) || (ports.length > 0 && proto === null))
    throw badRule(id, `has ports ${ports.join(",")}`);
  return {
    type: direction,
    action: action === "allow" ? "ACCEPT" : "DROP",
    ...(proto === null ? {} : { proto }),
    ...(ports.length === 0 ? {} : { dport: ports.map((each) => each.replace("-", ":")).join(",") }),
    ...peer,
    ...(iface === null ? {} : { iface }),
    comment: id,
  };
}

function badRule(id: string, what: string): Failed {
  return new Failed({
    code: "bad_filter",
    message: "The server's firewall rules cannot be applied. An operator has to look at it.",
    internal: `rule ${id} ${what}`,
  });
}
