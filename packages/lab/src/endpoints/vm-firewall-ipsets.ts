import { isIP } from "node:net";
import { badParameters, failure } from "../api-error.ts";
import { type Call, flag, type Handlers, required, text } from "../call.ts";
import type { FirewallDocument, IpSet, IpSetEntry } from "../documents.ts";

import { cleanCidr } from "../vm/clean-cidr.ts";
import { firewallOf, partDigest, requirePartDigest, saveFirewall } from "../vm/firewall-file.ts";

function ipsetOf(call: Call): { firewall: FirewallDocument; name: string; set: IpSet } {
  const firewall = firewallOf(call);
  const name = required(call, "name");
  const set = firewall.ipsets[name];
  if (set === undefined) throw failure(`no such IPSet '${name}'`);
  return { firewall, name, set };
}

/** The content that the digest of the list of sets covers; their entries have digests of their own. */
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

function putSet(call: Call, op: string, name: string, entries: readonly IpSetEntry[]): null {
  const firewall = firewallOf(call);
  const set = firewall.ipsets[name];
  if (set === undefined) throw failure(`no such IPSet '${name}'`);
  const ipsets = { ...firewall.ipsets, [name]: { ...set, entries } };
  return saveFirewall(call, op, { ...firewall, ipsets }, { name, entries: entries.map(({ cidr }) => cidr) });
}

function addEntry(call: Call): null {
  const { name, set } = ipsetOf(call);
  const given = required(call, "cidr");
  // The lab has no aliases, so a name is one that does not exist.
  if (isIP(given.split("/")[0] ?? "") === 0) throw failure(`no such alias '${given}'`);
  const cidr = cleanCidr(given);
  if (set.entries.some((entry) => entry.cidr === cidr))
    throw badParameters({ cidr: `address '${cidr}' already exists` });
  if (/\/0+$/.test(cidr)) throw badParameters({ cidr: "a zero prefix is not allowed in ipset entries" });
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
    if (set === undefined) throw failure(`no such IPSet '${name}'`);
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
  // An entry that is not there is gone: no error.
  "DELETE /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}/{cidr}": (call) => {
    const { name, set } = ipsetOf(call);
    requirePartDigest(call, set.entries);
    const cidr = required(call, "cidr");
    return putSet(
      call,
      "firewall-ipset-entry-removed",
      name,
      set.entries.filter((entry) => entry.cidr !== cidr),
    );
  },
};
