import { type Call, type Handlers, text } from "../call.ts";
import { splitList } from "../schema/property-schema.ts";

import {
  firewallOf,
  partDigest,
  requirePartDigest,
  saveFirewall,
  typedOptions,
} from "../vm/firewall-file.ts";

import { vmFirewallIpsetHandlers } from "./vm-firewall-ipsets.ts";
import { vmFirewallRuleHandlers } from "./vm-firewall-rules.ts";

function getOptions(call: Call): unknown {
  const { options } = firewallOf(call);
  return { ...typedOptions(options), digest: partDigest(options) };
}

function putOptions(call: Call): null {
  const firewall = firewallOf(call);
  requirePartDigest(call, firewall.options);
  const options: Record<string, string> = { ...firewall.options };
  for (const key of splitList(text(call, "delete") ?? "")) delete options[key];
  for (const key of Object.keys(call.params)) {
    if (!["node", "vmid", "delete", "digest"].includes(key)) options[key] = text(call, key) ?? "";
  }
  return saveFirewall(call, "firewall-options", { ...firewall, options }, options);
}

export const vmFirewallHandlers: Handlers = {
  "GET /nodes/{node}/qemu/{vmid}/firewall": () => ["rules", "options", "ipset"].map((name) => ({ name })),
  "GET /nodes/{node}/qemu/{vmid}/firewall/options": getOptions,
  "PUT /nodes/{node}/qemu/{vmid}/firewall/options": putOptions,
  ...vmFirewallRuleHandlers,
  ...vmFirewallIpsetHandlers,
};
