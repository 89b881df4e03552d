import { readBoolean } from "../lenient.ts";
import type { ProbeSite } from "./conformance.ts";
import type { ProbeRun } from "./probe-run.ts";

const STALE = "0".repeat(40);
const SET = "kule-conformance";
const BASE = "/nodes/{node}/qemu/{vmid}/firewall";
/** As narrow as possible, and of a kind whose prefix must not be lost. */
const BLOCK = "2001:db8::/32";

/** Options, sets and rules of the VM's firewall. */
export async function probeFirewall(run: ProbeRun, { node, vmid }: ProbeSite): Promise<void> {
  const at = { node, vmid };
  await run.answers(`GET ${BASE}/options`, "before anything was said", at);
  const options = {
    enable: true,
    policy_in: "DROP",
    policy_out: "ACCEPT",
    macfilter: true,
    ipfilter: true,
  } as const;
  await run.answers(`PUT ${BASE}/options`, "all that the driver sets", {
    ...at,
    ...options,
    dhcp: false,
    ndp: true,
    radv: false,
  });
  await run.answers(`GET ${BASE}/options`, "after they were set", at, (seen) =>
    readBoolean(seen.enable) && readBoolean(seen.ipfilter) && seen.policy_in === "DROP"
      ? null
      : `says ${JSON.stringify(seen)}`,
  );
  await run.refuses(
    `PUT ${BASE}/options`,
    "a digest that is not the present one",
    { ...at, enable: false, digest: STALE },
    ["ProxmoxConflict"],
  );
  await probeSet(run, at);
  await probeRules(run, at);
  await run.answers(`DELETE ${BASE}/ipset/{name}`, "one that holds something", {
    ...at,
    name: SET,
    force: true,
  });
  await run.refuses(
    `DELETE ${BASE}/ipset/{name}`,
    "one that is not there",
    { ...at, name: SET, force: true },
    ["ProxmoxNoSuchSet"],
  );
}

type At = { readonly node: string; readonly vmid: number };

async function probeSet(run: ProbeRun, at: At): Promise<void> {
  const set = { ...at, name: SET };
  await run.answers(`POST ${BASE}/ipset`, "a new one", set);
  await run.refuses(`POST ${BASE}/ipset`, "one that is there", set, ["ProxmoxConflict"]);
  await run.answers(`GET ${BASE}/ipset`, "after one was made", at, (sets) =>
    sets.some(({ name }) => name === SET) ? null : "lacks it",
  );
  const add = `POST ${BASE}/ipset/{name}` as const;
  for (const cidr of ["192.0.2.1", "198.51.100.0/24", BLOCK]) await run.answers(add, cidr, { ...set, cidr });
  await run.refuses(add, "an address that is there", { ...set, cidr: "192.0.2.1" }, ["ProxmoxConflict"]);
  for (const cidr of ["0.0.0.0/0", "::/0"])
    await run.refuses(add, cidr, { ...set, cidr }, ["ProxmoxBadRequest"]);
  // Read as the name of an alias that is not there.
  await run.refuses(add, "no address", { ...set, cidr: "bogus" }, ["ProxmoxBadRequest", "ProxmoxFailure"]);
  const entries = await run.answers(`GET ${BASE}/ipset/{name}`, "its entries", set, (seen) => {
    const listed = seen.map(({ cidr }) => cidr).sort();
    const sent = ["192.0.2.1", "198.51.100.0/24", BLOCK].sort();
    return listed.join() === sent.join() ? null : `lists ${listed.join(", ")}, sent were ${sent.join(", ")}`;
  });
  const remove = `DELETE ${BASE}/ipset/{name}/{cidr}` as const;
  await run.refuses(
    remove,
    "a digest that is not the present one",
    { ...set, cidr: "192.0.2.1", digest: STALE },
    ["ProxmoxConflict"],
  );
  const digest = entries?.[0]?.digest;
  await run.answers(remove, "a block", { ...set, cidr: "198.51.100.0/24", ...(digest ? { digest } : {}) });
  await run.answers(remove, "one that is gone", { ...set, cidr: "198.51.100.0/24" });
}

async function probeRules(run: ProbeRun, at: At): Promise<void> {
  const add = `POST ${BASE}/rules` as const;
  const change = `PUT ${BASE}/rules/{pos}` as const;
  const remove = `DELETE ${BASE}/rules/{pos}` as const;
  const rule = { ...at, type: "in", action: "ACCEPT", enable: 0 } as const;
  const tcp = { ...rule, proto: "tcp" };
  await run.answers(add, "ports and a set", {
    ...tcp,
    dport: "22,8000:8100",
    source: `+${SET}`,
    comment: "fwr_1",
  });
  await run.answers(add, "every address", { ...tcp, source: "0.0.0.0/0", iface: "net0", comment: "fwr_2" });
  await run.refuses(add, "ports that go backwards", { ...tcp, dport: "200:100" }, ["ProxmoxBadRequest"]);
  await run.refuses(add, "an address that is none", { ...tcp, source: "bogus!" }, ["ProxmoxBadRequest"]);
  await run.refuses(add, "icmp from an IPv6 address", { ...rule, proto: "icmp", source: "2001:db8::1" }, [
    "ProxmoxBadRequest",
  ]);
  const listed = await run.answers(`GET ${BASE}/rules`, "the newest first, and switched off", at, (rules) => {
    const seen = rules.map(
      ({ comment, enable }) => `${String(comment).trim()} ${readBoolean(enable) ? "on" : "off"}`,
    );
    return seen.join() === "fwr_2 off,fwr_1 off" ? null : `lists ${seen.join(", ")}`;
  });
  const digest = (listed?.[0] as { digest?: string } | undefined)?.digest;
  const read = digest === undefined ? {} : { digest };
  await run.refuses(
    change,
    "a digest that is not the present one",
    { ...at, pos: 0, enable: 1, digest: STALE },
    ["ProxmoxConflict"],
  );
  await run.refuses(change, "a position that is not there", { ...at, pos: 99, enable: 1 }, [
    "ProxmoxConflict",
  ]);
  await run.answers(change, "moved behind the other", { ...at, pos: 0, moveto: 2, ...read });
  await run.answers(change, "switched on", { ...at, pos: 0, enable: 1 });
  await run.answers(`GET ${BASE}/rules`, "after that", at, (rules) => {
    const seen = rules.map(
      ({ comment, enable }) => `${String(comment).trim()} ${readBoolean(enable) ? "on" : "off"}`,
    );
    return seen.join() === "fwr_1 on,fwr_2 off" ? null : `lists ${seen.join(", ")}`;
  });
  await run.refuses(remove, "a digest that is not the present one", { ...at, pos: 1, digest: STALE }, [
    "ProxmoxConflict",
  ]);
  for (const pos of [1, 0]) await run.answers(remove, `position ${pos}`, { ...at, pos });
}
