// The effect of a VM's firewall on packets, for a scan of the region: as short as can be compared.

import { createHash } from "node:crypto";
import type { Schemas } from "@kule/contract/schemas";
import type { SeenFirewall } from "@kule/proxmox/vm-firewall";
import { fieldsOfRule } from "@kule/proxmox/vm-firewall-rule";
import { ruleLine } from "@kule/rules/firewalls/rule-line";

type Reported = NonNullable<Schemas["InventoryVm"]["firewall"]>;

/** The rules that are on, each as one line: those that are off mean nothing and are not counted. */
export function linesOfFirewall({ rules, ipsets }: SeenFirewall): string[] {
  const live = rules.filter(({ isEnabled }) => isEnabled);
  return live.map(({ text }) => (text === null ? "strange" : lineOf(text, ipsets)));
}

export function seenFilter(
  firewall: SeenFirewall,
): Pick<Reported, "policy_in" | "policy_out" | "rules" | "rules_digest"> {
  const lines = linesOfFirewall(firewall);
  return {
    policy_in: firewall.options.policy_in,
    policy_out: firewall.options.policy_out,
    rules: lines.length,
    rules_digest: createHash("sha256").update(lines.join("\n")).digest("hex"),
  };
}

/** A rule that does not fit the form of ours is kept as its own text. */
function lineOf(text: string, ipsets: SeenFirewall["ipsets"]): string {
  const { type, action, proto, dport, source, dest, iface, comment } = fieldsOfRule(text);
  const isOurs =
    (action === "ACCEPT" || action === "DROP") &&
    ((type === "in" && dest === undefined) || (type === "out" && source === undefined));
  const peer = type === "in" ? source : dest;
  const addresses = peer === undefined ? null : peer.startsWith("+") ? ipsets[peer.slice(1)] : [peer];
  if (!isOurs || addresses === undefined) return `strange ${text}`;
  return ruleLine({
    id: comment ?? "",
    direction: type,
    action: action === "ACCEPT" ? "allow" : "deny",
    protocol: proto ?? "any",
    ports: dport === undefined ? [] : dport.split(",").map((each) => each.replace(":", "-")),
    addresses,
    device: iface ?? null,
  });
}
