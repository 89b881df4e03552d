import { createHash } from "node:crypto";
import { isIPv4 } from "node:net";
import { badParameters, failure } from "../api-error.ts";
import { type Call, flag, type Handlers, number, required, text } from "../call.ts";
import type { FirewallDocument, FirewallRule, IpSet, IpSetEntry } from "../documents.ts";
import { requireQuorum } from "../region.ts";
import { splitList } from "../schema/property-schema.ts";

const EMPTY: FirewallDocument = { options: {}, rules: [], ipsets: {} };
const CONFLICT = "detected modified configuration - file changed by other user? Try again.";

const firewallOf = (call: Call): FirewallDocument =>
  call.region.store.get("firewall", required(call, "vmid")) ?? EMPTY;

const digestOf = (part: unknown): string => createHash("sha1").update(JSON.stringify(part)).digest("hex");

function requireDigest(call: Call, part: unknown): void {
  const digest = text(call, "digest");
  if (digest !== undefined && digest !== digestOf(part)) throw failure(CONFLICT);
}

function save(call: Call, op: string, next: FirewallDocument, detail: Record<string, unknown> = {}): null {
  requireQuorum(call.region);
  const vmid = required(call, "vmid");
  call.region.store.commit({ op, node: call.node, vmid: Number(vmid), user: call.authUser, detail }, [
    ["firewall", vmid, next],
  ]);
  return null;
}

const typed = (values: Readonly<Record<string, string>>): Record<string, string | number> =>
  Object.fromEntries(
    Object.entries(values).map(([key, value]) => [
      key,
      /^(enable|macfilter|ipfilter|dhcp|ndp|radv|pos)$/.test(key) ? Number(value) : value,
    ]),
  );

function getOptions(call: Call): unknown {
  const { options } = firewallOf(call);
  return { ...typed(options), digest: digestOf(options) };
}

function putOptions(call: Call): null {
  const firewall = firewallOf(call);
  requireDigest(call, firewall.options);
  const options: Record<string, string> = { ...firewall.options };
  for (const key of splitList(text(call, "delete") ?? "")) delete options[key];
  for (const key of Object.keys(call.params)) {
    if (!["node", "vmid", "delete", "digest"].includes(key)) options[key] = text(call, key) ?? "";
  }
  return save(call, "firewall-options", { ...firewall, options }, options);
}

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
    const family = (name: "source" | "dest"): string | undefined => {
      const value = rule[name];
      if (value === undefined || /^[+A-Za-z]/.test(value)) return undefined;
      return isIPv4(value.split(/[/,-]/)[0] ?? "") ? "4" : "6";
    };
    const [source, dest] = [family("source"), family("dest")];
    if (source !== undefined && dest !== undefined && source !== dest) {
      problems.dest = "detected mixed ipv4/ipv6 addresses in rule";
    }
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
  rules.map((rule, pos) => ({ ...typed(rule), pos, digest: digestOf(rules) }));

function ruleAt(call: Call): { firewall: FirewallDocument; pos: number; rule: FirewallRule } {
  const firewall = firewallOf(call);
  const pos = number(call, "pos") ?? 0;
  const rule = firewall.rules[pos];
  if (rule === undefined) throw badParameters({ pos: `no rule at position ${pos}` });
  return { firewall, pos, rule };
}

/** A new rule always goes to position 0, and is off unless told otherwise. */
function createRule(call: Call): null {
  const firewall = firewallOf(call);
  requireDigest(call, firewall.rules);
  const rule = ruleFrom(call, {});
  return save(call, "firewall-rule-created", { ...firewall, rules: [rule, ...firewall.rules] }, rule);
}

function updateRule(call: Call): null {
  const { firewall, pos, rule } = ruleAt(call);
  requireDigest(call, firewall.rules);
  const rules = [...firewall.rules];
  const moveTo = number(call, "moveto");
  if (moveTo !== undefined) {
    rules.splice(pos, 1);
    rules.splice(moveTo > pos ? moveTo - 1 : moveTo, 0, rule);
  } else {
    rules[pos] = ruleFrom(call, rule);
  }
  return save(call, "firewall-rule-updated", { ...firewall, rules }, { pos });
}

function deleteRule(call: Call): null {
  const { firewall, pos, rule } = ruleAt(call);
  requireDigest(call, firewall.rules);
  const rules = firewall.rules.filter((_, index) => index !== pos);
  return save(call, "firewall-rule-deleted", { ...firewall, rules }, rule);
}

function ipsetOf(call: Call): { firewall: FirewallDocument; name: string; set: IpSet } {
  const firewall = firewallOf(call);
  const name = required(call, "name");
  const set = firewall.ipsets[name];
  if (set === undefined) throw failure(`no such IPSet '${name}'`);
  return { firewall, name, set };
}

function createIpset(call: Call): null {
  const firewall = firewallOf(call);
  const name = required(call, "name");
  const rename = text(call, "rename");
  if (rename !== undefined) {
    const old = firewall.ipsets[rename];
    if (old === undefined) throw failure(`IPSet '${rename}' does not exist`);
    const { [rename]: _old, ...rest } = firewall.ipsets;
    const next = { ...old, comment: text(call, "comment") ?? old.comment };
    return save(
      call,
      "firewall-ipset-renamed",
      { ...firewall, ipsets: { ...rest, [name]: next } },
      { name, rename },
    );
  }
  if (firewall.ipsets[name] !== undefined) throw badParameters({ name: `IPSet '${name}' already exists` });
  const set: IpSet = { comment: text(call, "comment") ?? null, entries: [] };
  return save(
    call,
    "firewall-ipset-created",
    { ...firewall, ipsets: { ...firewall.ipsets, [name]: set } },
    { name },
  );
}

/** Host bits are cut off and a full prefix is left out: 10.0.0.11/24 is 10.0.0.0/24, 10.0.0.1/32 is 10.0.0.1. */
function normaliseCidr(cidr: string): string {
  const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(cidr);
  if (match === null) return cidr.replace(/\/128$/, "").toLowerCase();
  const [a = 0, b = 0, c = 0, d = 0, prefix = 32] = match.slice(1).map(Number);
  if (prefix === 32) return `${a}.${b}.${c}.${d}`;
  const mask = prefix === 0 ? 0 : (0xffffffff << (32 - prefix)) >>> 0;
  const value = (((a << 24) | (b << 16) | (c << 8) | d) & mask) >>> 0;
  return `${[24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join(".")}/${prefix}`;
}

function putSet(call: Call, op: string, name: string, entries: readonly IpSetEntry[]): null {
  const firewall = firewallOf(call);
  const set = firewall.ipsets[name];
  if (set === undefined) throw failure(`no such IPSet '${name}'`);
  const ipsets = { ...firewall.ipsets, [name]: { ...set, entries } };
  return save(call, op, { ...firewall, ipsets }, { name, entries: entries.map(({ cidr }) => cidr) });
}

function addEntry(call: Call): null {
  const { name, set } = ipsetOf(call);
  const cidr = normaliseCidr(required(call, "cidr"));
  if (set.entries.some((entry) => entry.cidr === cidr))
    throw badParameters({ cidr: `address '${cidr}' already exists` });
  const entry = { cidr, nomatch: flag(call, "nomatch"), comment: text(call, "comment") ?? null };
  // The newest entry is the first, as with rules.
  return putSet(call, "firewall-ipset-entry-added", name, [entry, ...set.entries]);
}

const showEntry =
  (set: IpSet) =>
  ({ cidr, nomatch, comment }: IpSetEntry) => ({
    cidr,
    ...(nomatch ? { nomatch: 1 } : {}),
    ...(comment === null ? {} : { comment }),
    digest: digestOf(set.entries),
  });

function entryOf(call: Call): { name: string; set: IpSet; entry: IpSetEntry } {
  const { name, set } = ipsetOf(call);
  const entry = set.entries.find(({ cidr }) => cidr === required(call, "cidr"));
  if (entry === undefined) throw badParameters({ cidr: `no such IP/Network` });
  return { name, set, entry };
}

export const vmFirewallHandlers: Handlers = {
  "GET /nodes/{node}/qemu/{vmid}/firewall": () => ["rules", "options", "ipset"].map((name) => ({ name })),
  "GET /nodes/{node}/qemu/{vmid}/firewall/options": getOptions,
  "PUT /nodes/{node}/qemu/{vmid}/firewall/options": putOptions,
  "GET /nodes/{node}/qemu/{vmid}/firewall/rules": (call) => numbered(firewallOf(call).rules),
  "POST /nodes/{node}/qemu/{vmid}/firewall/rules": createRule,
  "GET /nodes/{node}/qemu/{vmid}/firewall/rules/{pos}": (call) => {
    const { firewall, pos, rule } = ruleAt(call);
    return { ...typed(rule), pos, digest: digestOf(firewall.rules) };
  },
  "PUT /nodes/{node}/qemu/{vmid}/firewall/rules/{pos}": updateRule,
  "DELETE /nodes/{node}/qemu/{vmid}/firewall/rules/{pos}": deleteRule,
  "GET /nodes/{node}/qemu/{vmid}/firewall/ipset": (call) =>
    Object.entries(firewallOf(call).ipsets).map(([name, set]) => ({
      name,
      ...(set.comment === null ? {} : { comment: set.comment }),
      digest: digestOf(set),
    })),
  "POST /nodes/{node}/qemu/{vmid}/firewall/ipset": createIpset,
  "GET /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}": (call) => {
    const { set } = ipsetOf(call);
    return set.entries.map(showEntry(set));
  },
  "POST /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}": addEntry,
  "DELETE /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}": (call) => {
    const firewall = firewallOf(call);
    const name = required(call, "name");
    const { [name]: set, ...ipsets } = firewall.ipsets;
    if (set === undefined) return null;
    if (set.entries.length > 0 && !flag(call, "force")) throw failure(`IPSet '${name}' is not empty`);
    return save(call, "firewall-ipset-deleted", { ...firewall, ipsets }, { name });
  },
  "GET /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}/{cidr}": (call) => {
    const { set, entry } = entryOf(call);
    return showEntry(set)(entry);
  },
  "PUT /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}/{cidr}": (call) => {
    const { name, set, entry } = entryOf(call);
    requireDigest(call, set.entries);
    const next = {
      ...entry,
      nomatch: flag(call, "nomatch", entry.nomatch),
      comment: text(call, "comment") ?? entry.comment,
    };
    return putSet(
      call,
      "firewall-ipset-entry-updated",
      name,
      set.entries.map((e) => (e.cidr === entry.cidr ? next : e)),
    );
  },
  "DELETE /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}/{cidr}": (call) => {
    const { name, set, entry } = entryOf(call);
    requireDigest(call, set.entries);
    return putSet(
      call,
      "firewall-ipset-entry-removed",
      name,
      set.entries.filter((e) => e.cidr !== entry.cidr),
    );
  },
};
