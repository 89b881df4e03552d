import { badParameters, failure } from "../api-error.ts";
import { type Call, flag, type Handlers, required, text } from "../call.ts";
import type { FirewallDocument, IpSet, IpSetEntry } from "../documents.ts";

import { firewallOf, partDigest, requirePartDigest, saveFirewall } from "../vm/firewall-file.ts";

function ipsetOf(call: Call): { firewall: FirewallDocument; name: string; set: IpSet } {
  const firewall = firewallOf(call);
  const name = required(call, "name");
  const set = firewall.ipsets[name];
  if (set === undefined) throw failure(`no such IPSet '${name}'`);
  return { firewall, name, set };
}

/** What the digest of the list of sets is of; what is in them has digests of its own. */
const listOf = ({ ipsets }: FirewallDocument) =>
  Object.entries(ipsets).map(([name, { comment }]) => ({ name, comment }));

function createIpset(call: Call): null {
  const firewall = firewallOf(call);
  const name = required(call, "name");
  const rename = text(call, "rename");
  if (rename !== undefined) {
    requirePartDigest(call, listOf(firewall));
    const old = firewall.ipsets[rename];
    if (old === undefined) throw failure(`IPSet '${rename}' does not exist`);
    const { [rename]: _old, ...rest } = firewall.ipsets;
    const next = { ...old, comment: text(call, "comment") ?? old.comment };
    return saveFirewall(
      call,
      "firewall-ipset-renamed",
      { ...firewall, ipsets: { ...rest, [name]: next } },
      { name, rename },
    );
  }
  if (firewall.ipsets[name] !== undefined) throw badParameters({ name: `IPSet '${name}' already exists` });
  const set: IpSet = { comment: text(call, "comment") ?? null, entries: [] };
  return saveFirewall(
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
  return saveFirewall(call, op, { ...firewall, ipsets }, { name, entries: entries.map(({ cidr }) => cidr) });
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
    digest: partDigest(set.entries),
  });

function entryOf(call: Call): { name: string; set: IpSet; entry: IpSetEntry } {
  const { name, set } = ipsetOf(call);
  const entry = set.entries.find(({ cidr }) => cidr === required(call, "cidr"));
  if (entry === undefined) throw badParameters({ cidr: `no such IP/Network` });
  return { name, set, entry };
}

export const vmFirewallIpsetHandlers: Handlers = {
  "GET /nodes/{node}/qemu/{vmid}/firewall/ipset": (call) => {
    const firewall = firewallOf(call);
    const digest = partDigest(listOf(firewall));
    return listOf(firewall).map(({ name, comment }) => ({
      name,
      ...(comment === null ? {} : { comment }),
      digest,
    }));
  },
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
    return saveFirewall(call, "firewall-ipset-deleted", { ...firewall, ipsets }, { name });
  },
  "GET /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}/{cidr}": (call) => {
    const { set, entry } = entryOf(call);
    return showEntry(set)(entry);
  },
  "PUT /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}/{cidr}": (call) => {
    const { name, set, entry } = entryOf(call);
    requirePartDigest(call, set.entries);
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
    requirePartDigest(call, set.entries);
    return putSet(
      call,
      "firewall-ipset-entry-removed",
      name,
      set.entries.filter((e) => e.cidr !== entry.cidr),
    );
  },
};
