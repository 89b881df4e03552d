import { createHash } from "node:crypto";
import type { SeenFirewall } from "@kule/proxmox/vm-firewall";
import { type FirewallRuleText, textOfRule } from "@kule/proxmox/vm-firewall-rule";
import { linesOfFilter } from "@kule/rules/firewalls/rule-line";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Failed } from "../errors.ts";
import type { Job } from "../program.ts";
import { runProgram } from "../run-program.ts";
import { createServer } from "../servers/create-server/program.ts";
import {
  createJob,
  endState,
  type LabRegion,
  quietHost,
  startLabRegion,
  stepsDone,
} from "../testing/lab-region.ts";
import { survivesACrashAnywhere } from "../testing/survives-a-crash-anywhere.ts";
import { desiredFirewall, type Filter } from "./desired-firewall.ts";
import { firewallDiffers } from "./firewall-differs.ts";
import { applyFirewall } from "./program.ts";
import { seenFilter } from "./seen-filter.ts";

let region: LabRegion;
let nextVmid = 20_700;
const newVmid = () => nextVmid++;
beforeAll(async () => {
  region = await startLabRegion();
});
afterAll(() => region.stop());

type Rule = Filter["rules"][number];
const ofThePlatform = {
  text: textOfRule({
    ...{ type: "in", action: "DROP", source: "fe80::/10", comment: "platform_link_addresses" },
  }),
  isEnabled: true,
};
const rule = (id: string, more: Partial<Rule> = {}): Rule => ({
  id,
  direction: "in",
  action: "allow",
  protocol: "tcp",
  ports: ["22", "8000-8100"],
  side: null,
  addresses: null,
  ...more,
});
const filter = (id: string, ...rules: Rule[]): Filter => ({ id, is_filtered: true, rules });
const none: Filter = { id: "none", is_filtered: false, rules: [] };

async function make(vmid: number, more: Parameters<typeof createJob>[1] = {}) {
  const job = createJob(vmid, more);
  const observed = await runProgram(createServer, job, region.world, quietHost());
  return { payload: job.payload, observed };
}

type Made = Awaited<ReturnType<typeof make>>["payload"];
const applyJob = (made: Made, wanted: Filter): Job<never> =>
  ({
    id: `job_fw_${made.vmid}`,
    payload: {
      kind: "FirewallApply",
      server: made.server,
      vmid: made.vmid,
      interfaces: made.interfaces,
      public_interface: made.public_interface ?? null,
      filter: wanted,
    },
  }) as unknown as Job<never>;

async function apply(made: Made, wanted: Filter, host = quietHost()) {
  const observed = await runProgram(applyFirewall, applyJob(made, wanted), region.world, host);
  return { observed, steps: stepsDone(host.events) };
}

const firewallOf = async (vmid: number) =>
  ((await endState(region, vmid)) as { firewall: SeenFirewall }).firewall;
const opsOf = (vmid: number) =>
  region.lab
    .journal()
    .filter((entry) => entry.vmid === vmid)
    .map((entry) => entry.op);
const on = (text: FirewallRuleText) => ({ text: textOfRule(text), isEnabled: true });

describe("A server's filter", { timeout: 60_000 }, () => {
  it("is on the VM in the hypervisor's words, in its order, and everything else stays out", async () => {
    const vmid = newVmid();
    const { payload } = await make(vmid);
    const wanted = filter(
      "flt_1",
      rule("fwr_1", { side: "private", addresses: ["10.20.0.7", "10.20.1.0/24"] }),
      rule("fwr_2", {
        direction: "out",
        action: "deny",
        protocol: "any",
        ports: [],
        addresses: ["192.0.2.0/24"],
      }),
      rule("fwr_3", { protocol: "icmp", ports: [] }),
    );
    const { observed, steps } = await apply(payload, wanted);
    expect(steps).toEqual(["firewall"]);
    expect(observed).toMatchObject({ power_state: "on", filter: "flt_1" });
    const { rules, ipsets, options } = await firewallOf(vmid);
    const [set] = Object.keys(ipsets).filter((name) => name.startsWith("kule-"));
    expect(ipsets).toEqual({
      "ipfilter-net0": ["10.20.0.5"],
      [set ?? ""]: ["10.20.0.7", "10.20.1.0/24"],
    });
    const ssh = { type: "in", action: "ACCEPT", proto: "tcp", dport: "22,8000:8100" } as const;
    expect(rules).toEqual([
      ofThePlatform,
      on({ ...ssh, source: `+${set}`, iface: "net0", comment: "fwr_1" }),
      on({ type: "out", action: "DROP", dest: "192.0.2.0/24", comment: "fwr_2" }),
      on({ type: "in", action: "ACCEPT", proto: "icmp", comment: "fwr_3" }),
    ]);
    expect(options).toMatchObject({
      enable: true,
      policy_in: "DROP",
      policy_out: "ACCEPT",
      ipfilter: true,
    });
    expect((await apply(payload, wanted)).steps).toEqual([]);
    // A scan reports it with the same digest as the control plane's.
    const lines = linesOfFilter(wanted, payload.interfaces.length);
    const seen = await firewallOf(vmid);
    expect(seenFilter(seen)).toEqual({
      policy_in: "DROP",
      policy_out: "ACCEPT",
      rules: 4,
      rules_digest: createHash("sha256").update(lines.join("\n")).digest("hex"),
    });
    const off = { text: textOfRule({ ...ssh, comment: "by hand" }), isEnabled: false };
    expect(seenFilter({ ...seen, rules: [off, ...seen.rules] })).toEqual(seenFilter(seen));
    const byHand: SeenFirewall[] = [
      { ...seen, rules: [{ ...off, isEnabled: true }, ...seen.rules] },
      { ...seen, rules: [{ text: null, isEnabled: true }, ...seen.rules] },
      { ...seen, rules: seen.rules.toReversed() },
      { ...seen, rules: seen.rules.slice(1) },
      { ...seen, ipsets: { ...ipsets, [set ?? ""]: ["10.20.0.7", "10.20.1.0/24", "0.0.0.0/1"] } },
      { ...seen, ipsets: {} },
    ];
    const digests = [seen, ...byHand].map((each) => seenFilter(each).rules_digest);
    expect(new Set(digests).size).toBe(digests.length);
  });

  it.each([
    ["everybody of both versions", ["0.0.0.0/0", "::/0", "10.0.0.0/8"], [{}], []],
    ["everybody of IPv4", ["0.0.0.0/0"], [{ source: "0.0.0.0/0" }], []],
    ["everybody of IPv4 and one block of it", ["0.0.0.0/0", "10.0.0.0/8"], [{ source: "0.0.0.0/0" }], []],
    [
      "everybody of IPv4 and blocks of IPv6",
      ["0.0.0.0/0", "2001:db8::/32", "2a00::/16"],
      [{ source: "0.0.0.0/0" }, { source: "set" }],
      ["2001:db8::/32", "2a00::/16"],
    ],
    [
      "everybody of IPv6 and an address of IPv4",
      ["192.0.2.1", "::/0"],
      [{ source: "::/0" }, { source: "192.0.2.1" }],
      [],
    ],
  ] as const)("admits %s, and no others", async (_, addresses, sources, members) => {
    const vmid = newVmid();
    const { payload } = await make(vmid);
    const wanted = filter("flt_1", rule("fwr_1", { addresses: [...addresses] }));
    await apply(payload, wanted);
    const { rules, ipsets } = await firewallOf(vmid);
    const set = Object.keys(ipsets).find((name) => name.startsWith("kule-"));
    expect(ipsets[set ?? ""] ?? []).toEqual(members);
    const ssh = { type: "in", action: "ACCEPT", proto: "tcp", dport: "22,8000:8100" } as const;
    expect(rules).toEqual([
      ofThePlatform,
      ...sources.map((peer: { source?: string }) =>
        on({ ...ssh, ...peer, ...(peer.source === "set" ? { source: `+${set}` } : {}), comment: "fwr_1" }),
      ),
    ]);
    expect((await apply(payload, wanted)).steps).toEqual([]);
    const lines = linesOfFilter(wanted, payload.interfaces.length);
    expect(seenFilter(await firewallOf(vmid))).toMatchObject({
      rules: lines.length,
      rules_digest: createHash("sha256").update(lines.join("\n")).digest("hex"),
    });
  });

  it("differs when a prefix was lost, or a member is left out", async () => {
    const vmid = newVmid();
    const { payload } = await make(vmid);
    const blocks = ["198.51.100.1", "2001:db8::/32"];
    const denied = filter("flt_1", rule("fwr_1", { action: "deny", addresses: blocks }));
    await apply(payload, denied);
    const seen = await firewallOf(vmid);
    const [set = ""] = Object.keys(seen.ipsets).filter((name) => name.startsWith("kule-"));
    const intent = { ...payload, filter: denied };
    const differs = (members: readonly string[], own = members) =>
      firewallDiffers(
        intent,
        { ...desiredFirewall(intent), ipsets: { ...seen.ipsets, [set]: own } },
        { ...seen, ipsets: { ...seen.ipsets, [set]: members } },
      );
    expect(differs(blocks)).toBe(false);
    expect(differs(["198.51.100.1", "2001:0DB8:0::/32"])).toBe(false);
    // Written and listed the same, and yet not what was meant.
    expect(differs(["198.51.100.1", "2001:db8::"])).toBe(true);
    expect(differs(["198.51.100.1", "!2001:db8::/32"])).toBe(true);
  });

  it("keeps out the whole of a /32 of IPv6", async () => {
    const vmid = newVmid();
    const { payload } = await make(vmid);
    const blocks = ["198.51.100.1", "2001:db8::/32"];
    await apply(payload, filter("flt_1", rule("fwr_1", { action: "deny", addresses: blocks })));
    const { ipsets } = await firewallOf(vmid);
    expect(Object.values(ipsets).flat()).toContain("2001:db8::/32");
  });

  it("uses the peers of its own IP version for icmp, and is not written when it has none", async () => {
    const vmid = newVmid();
    const { payload } = await make(vmid);
    const both = ["10.20.0.7", "2001:db8::7"];
    const ping = (id: string, protocol: "icmp" | "icmpv6", addresses: string[]) =>
      rule(id, { protocol, ports: [], addresses });
    const wanted = filter(
      "flt_1",
      ping("fwr_4", "icmp", both),
      ping("fwr_6", "icmpv6", both),
      ping("fwr_none", "icmp", ["2001:db8::7", "::/0"]),
      ping("fwr_all", "icmp", ["0.0.0.0/0", "2001:db8::7"]),
    );
    await apply(payload, wanted);
    const { rules, ipsets } = await firewallOf(vmid);
    expect(Object.keys(ipsets)).toEqual(["ipfilter-net0"]);
    const allow = { type: "in", action: "ACCEPT" } as const;
    expect(rules).toEqual([
      ofThePlatform,
      on({ ...allow, proto: "icmp", source: "10.20.0.7", comment: "fwr_4" }),
      on({ ...allow, proto: "icmpv6", source: "2001:db8::7", comment: "fwr_6" }),
      on({ ...allow, proto: "icmp", source: "0.0.0.0/0", comment: "fwr_all" }),
    ]);
    expect((await apply(payload, wanted)).steps).toEqual([]);
  });

  it("is removed as it was added, and leaves the filter of its addresses", async () => {
    const vmid = newVmid();
    const { payload } = await make(vmid);
    const before = await firewallOf(vmid);
    await apply(payload, filter("flt_1", rule("fwr_1", { addresses: ["10.0.0.1", "10.0.0.2"] })));
    expect((await apply(payload, none)).observed).toMatchObject({ filter: "none" });
    expect(await firewallOf(vmid)).toEqual(before);
  });

  it("is there before a server runs for the first time", async () => {
    const vmid = newVmid();
    const { observed } = await make(vmid, { filter: filter("flt_new", rule("fwr_1")) });
    expect(observed.filter).toBe("flt_new");
    expect((await firewallOf(vmid)).rules).toMatchObject([{ isEnabled: true }, { isEnabled: true }]);
    const ops = opsOf(vmid);
    expect(ops.lastIndexOf("firewall-rule-updated")).toBeLessThan(ops.indexOf("vm-started"));
    expect(ops.lastIndexOf("firewall-options")).toBeLessThan(ops.indexOf("vm-started"));
  });

  it("removes manual changes of the VM's rules", async () => {
    const vmid = newVmid();
    const { payload } = await make(vmid);
    const wanted = filter("flt_1", rule("fwr_1"));
    await apply(payload, wanted);
    const { hypervisor, settings } = region.world;
    const owner = { serverId: payload.server.id, region: settings.region };
    const effect = {
      jobId: "job_test",
      afterObservation: async () => {},
      beforeCall: async () => {},
      answered: async () => {},
      taskStarted: async () => {},
      stillRunning: async () => {},
      note: () => {},
    };
    const open = { type: "in", action: "ACCEPT", comment: "by hand" } as const;
    const seen = await hypervisor.findVm(vmid, owner);
    if (seen.state !== "present") throw new Error("the VM is not there");
    const { options, ipsets } = await hypervisor.readFirewall(seen.vm);
    await hypervisor.setFirewall(vmid, owner, { options, ipsets, rules: [open] }, effect);
    expect((await apply(payload, wanted)).steps).toEqual(["firewall"]);
    const kept = {
      type: "in",
      action: "ACCEPT",
      proto: "tcp",
      dport: "22,8000:8100",
      comment: "fwr_1",
    } as const;
    expect((await firewallOf(vmid)).rules).toEqual([ofThePlatform, on(kept)]);
  });

  it.each([
    ["an id that is none", rule("fwr_1\nIN ACCEPT")],
    ["an address that is none", rule("fwr_1", { addresses: ["10.0.0.1 -p tcp"] })],
    ["an address of a set", rule("fwr_1", { addresses: ["+dc/all"] })],
    ["a port that is none", rule("fwr_1", { ports: ["22 -sport 1"] })],
    ["ports of everything", rule("fwr_1", { protocol: "any" })],
  ])("is refused with %s, and the VM stays unchanged", async (_, odd) => {
    const vmid = newVmid();
    const { payload } = await make(vmid);
    const before = await firewallOf(vmid);
    const failed = await apply(payload, filter("flt_odd", odd)).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(Failed);
    expect(await firewallOf(vmid)).toEqual(before);
  });

  it("of a missing VM cannot be applied", async () => {
    await expect(apply(createJob(newVmid()).payload, none)).rejects.toThrow(/vm_missing/);
  });

  it("survives a crash anywhere", async () => {
    const points = await survivesACrashAnywhere(async () => {
      const vmid = newVmid();
      const { payload } = await make(vmid);
      await apply(
        payload,
        filter("flt_1", rule("fwr_1"), rule("fwr_2", { addresses: ["10.0.0.1", "10.0.0.2"] }), rule("fwr_4")),
      );
      const before = region.effects(vmid);
      return {
        run: (at: (name: string) => void) =>
          apply(
            payload,
            filter(
              "flt_2",
              rule("fwr_1"),
              rule("fwr_3", { addresses: ["10.0.0.1", "10.0.0.3"] }),
              rule("fwr_5"),
              rule("fwr_4"),
            ),
            quietHost({ crashPoint: at }),
          ),
        state: () => endState(region, vmid),
        effects: async () =>
          Object.fromEntries(
            Object.entries(region.effects(vmid)).map(([op, count]) => [op, count - (before[op] ?? 0)]),
          ),
      };
    });
    expect(points.filter((point) => point === "FirewallApply.firewall.effect-done").length).toBeGreaterThan(
      8,
    );
  }, 300_000);
});
