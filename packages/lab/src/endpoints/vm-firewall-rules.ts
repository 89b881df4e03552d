import { isIPv4 } from "node:net";
import { badParameters, failure } from "../api-error.ts";
import { type Call, type Handlers, number, text } from "../call.ts";
import type { FirewallDocument, FirewallRule } from "../documents.ts";
import { splitList } from "../schema/property-schema.ts";

import {
  firewallOf,
  partDigest,
  requirePartDigest,
  saveFirewall,
  typedOptions,
} from "../vm/firewall-file.ts";

const RULE_KEYS = [
  "type",
  "action",
  "enable",
  "macro",
  "source",
  "dest",
  "proto",
  "sport",
  "dport",
  "icmp-type",
  "iface",
  "log",
  "comment",
];

function ruleFrom(call: Call, base: FirewallRule): FirewallRule {
  const rule: Record<string, string> = { ...base };
  for (const key of splitList(text(call, "delete") ?? "")) delete rule[key];
  for (const key of RULE_KEYS) {
    const value = text(call, key);
    if (value !== undefined) rule[key] = value;
  }
  rule.enable ??= "0";
  const problems: Record<string, string> = {};
  if (rule.type === "in" || rule.type === "out") {
    if (!/^(ACCEPT|DROP|REJECT)$/.test(rule.action ?? "")) {
      problems.action = `unknown action '${rule.action}'`;
    }
    if (rule.macro !== undefined && (rule.proto ?? rule.dport) !== undefined) {
      problems.proto = "you can't combine macro and protocol";
    }
    if (rule.dport !== undefined && rule.proto === undefined && rule.macro === undefined) {
      problems.proto = "missing property - 'dport' requires this property";
    }
    if (rule.iface !== undefined && !/^net\d+$/.test(rule.iface)) {
      problems.iface = "value does not match the regex pattern";
    }
    Object.assign(problems, familyProblem(rule));
    const set = /^\+(?:guest\/)?([A-Za-z][\w-]*)$/;
    for (const name of ["source", "dest"] as const) {
      const ipset = set.exec(rule[name] ?? "")?.[1];
      if (ipset !== undefined && firewallOf(call).ipsets[ipset] === undefined) {
        problems[name] = `no such ipset '${ipset}'`;
      }
    }
  }
  if (rule.type === "forward") problems.type = "'forward' is only valid on hosts and vnets";
  if (Object.keys(problems).length > 0) throw badParameters(problems);
  return rule;
}

const numbered = (rules: readonly FirewallRule[]): unknown[] =>
  rules.map((rule, pos) => ({ ...typedOptions(rule), pos, digest: partDigest(rules) }));

/** The IP version of a protocol and of addresses: a rule has one alone. Names of sets and aliases fit any. */
function familyProblem({ proto, source, dest }: FirewallRule): Record<string, string> {
  let version = { icmp: 4, icmpv6: 6, "ipv6-icmp": 6 }[proto ?? ""];
  for (const [name, text] of Object.entries({ source, dest })) {
    if (text === undefined || /^[+A-Za-z][^:.]*$/.test(text)) continue;
    const own = isIPv4(text.split(/[/,-]/)[0] ?? "") ? 4 : 6;
    if (version !== undefined && version !== own)
      return { [name]: "detected mixed ipv4/ipv6 addresses in rule" };
    version = own;
  }
  return {};
}

function ruleAt(call: Call): { firewall: FirewallDocument; pos: number; rule: FirewallRule } {
  const firewall = firewallOf(call);
  requirePartDigest(call, firewall.rules);
  const pos = number(call, "pos") ?? 0;
  const rule = firewall.rules[pos];
  if (rule === undefined) throw failure(`no rule at position ${pos}`);
  return { firewall, pos, rule };
}

/**
 * A new rule always goes to position 0, and is disabled by default. Its digest is accepted and never checked.
 */
function createRule(call: Call): null {
  const firewall = firewallOf(call);
  const rule = ruleFrom(call, {});
  return saveFirewall(call, "firewall-rule-created", { ...firewall, rules: [rule, ...firewall.rules] }, rule);
}

function updateRule(call: Call): null {
  const { firewall, pos, rule } = ruleAt(call);
  const rules = [...firewall.rules];
  const moveTo = number(call, "moveto");
  if (moveTo !== undefined) {
    rules.splice(pos, 1);
    rules.splice(moveTo > pos ? moveTo - 1 : moveTo, 0, rule);
  } else {
    rules[pos] = ruleFrom(call, rule);
  }
  return saveFirewall(call, "firewall-rule-updated", { ...firewall, rules }, { pos });
}

function deleteRule(call: Call): null {
  const { firewall, pos, rule } = ruleAt(call);
  const rules = firewall.rules.filter((_, index) => index !== pos);
  return saveFirewall(call, "firewall-rule-deleted", { ...firewall, rules }, rule);
}

export const vmFirewallRuleHandlers: Handlers = {
  "GET /nodes/{node}/qemu/{vmid}/firewall/rules": (call) => numbered(firewallOf(call).rules),
  "POST /nodes/{node}/qemu/{vmid}/firewall/rules": createRule,
  "GET /nodes/{node}/qemu/{vmid}/firewall/rules/{pos}": (call) => {
    const { firewall, pos, rule } = ruleAt(call);
    return { ...typedOptions(rule), pos, digest: partDigest(firewall.rules) };
  },
  "PUT /nodes/{node}/qemu/{vmid}/firewall/rules/{pos}": updateRule,
  "DELETE /nodes/{node}/qemu/{vmid}/firewall/rules/{pos}": deleteRule,
};
