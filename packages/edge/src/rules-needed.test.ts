import { requirePart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nftFromInput } from "./apply.ts";
import type { EdgeNetwork } from "./edge-network.ts";
import { LinuxEdge } from "./linux-edge.ts";
import { LocalRunner } from "./local-runner.ts";
import { namespaceOf } from "./names.ts";
import { type NftObject, renderRuleset } from "./render-ruleset.ts";
import { output } from "./runner.ts";
import { type Machine, probeNamespaces, Wires } from "./testing/wires.ts";

const part = await requirePart("namespaces", probeNamespaces, import.meta.filename);

const want: EdgeNetwork = {
  networkId: `net_${process.pid.toString(36)}rules`,
  generation: 1,
  subnets: [
    { subnetId: "sub_app", tier: "app", vlan: 301, cidr: "10.0.1.0/24", gatewayAddress: "10.0.1.1" },
    { subnetId: "sub_data", tier: "data", vlan: 302, cidr: "10.0.2.0/24", gatewayAddress: "10.0.2.1" },
  ],
  gateway: {
    gatewayId: "gw_rules",
    address: "203.0.113.20",
    prefixLength: 24,
    nextHop: "203.0.113.1",
    vlan: null,
    subnetIds: ["sub_app"],
    portForwards: [
      { protocol: "tcp", listenPort: 8080, targetAddress: "10.0.1.11", targetPort: 80 },
      { protocol: "udp", listenPort: 8081, targetAddress: "10.0.1.11", targetPort: 80 },
    ],
  },
};

/**
 * Rules that another defence backs up; each is a second line on purpose. `ipv6`: the kernel's IPv6 is off.
 * `invalid`: without it a packet of no flow would still need a rule for its pair. `left`: shown in
 * linux-edge.test.ts, where a gateway's address changes.
 */
const secondLines = [/"ipv6"/, /"invalid"/, /"chain":"left"/];

describe.skipIf(part.missing)("each rule of an edge", { timeout: 120_000 }, () => {
  const runner = new LocalRunner();
  let wires: Wires;
  let edge: LinuxEdge;
  let app: Machine;
  let target: Machine;
  let data: Machine;
  let internet: Machine;

  beforeAll(async () => {
    wires = await Wires.lay();
    edge = new LinuxEdge(runner, wires.wiring);
    internet = await wires.internet("203.0.113.1/24", "198.51.100.7/32", "192.168.77.7/32");
    for (const inside of ["10.0.1.77/32", "10.0.2.77/32"])
      await internet.ip("addr", "add", inside, "dev", "eth0");
    for (let look = 0; look < 2; look++) {
      const sight = await edge.observe(want);
      for (const step of edge.plan(sight)) await edge.apply(step, sight);
    }
    // The kernel's own check of sources backs up the rules' check: here only the rules are tested.
    for (const link of ["all", "s301", "s302", "up"])
      await output(runner, {
        words: [
          "ip",
          "netns",
          "exec",
          namespaceOf(want.networkId),
          "sysctl",
          "-w",
          `net.ipv4.conf.${link}.rp_filter=0`,
        ],
      });
    app = await wires.server(301, "10.0.1.10/24", "10.0.1.1");
    target = await wires.server(301, "10.0.1.11/24", "10.0.1.1");
    data = await wires.server(302, "10.0.2.10/24", "10.0.2.1");
    await data.ip("addr", "add", "10.0.1.99/32", "dev", "eth0");
    for (const foreign of ["192.0.2.1/32", "10.0.2.50/32"])
      await app.ip("addr", "add", foreign, "dev", "eth0");
    await internet.ip("route", "replace", "10.0.1.0/24", "via", "203.0.113.20");
  });
  afterAll(async () => {
    await edge?.remove(want.networkId);
    await wires?.end();
  });

  async function load(rules: readonly NftObject[]): Promise<void> {
    await output(runner, {
      words: ["ip", "netns", "exec", namespaceOf(want.networkId), "sh", "-c", nftFromInput],
      input: JSON.stringify({
        nftables: [{ flush: { ruleset: null } }, ...rules.map((object) => ({ add: object }))],
      }),
    });
  }

  /**
   * Which machines reach which, with which source address; and which datagrams arrive that cannot be
   * answered.
   */
  async function reach(waitFactor = 1): Promise<Record<string, unknown>> {
    const machines = [app, target, data, internet];
    await Promise.all(machines.map((machine) => machine.arrivals()));
    const waitMs = 250 * waitFactor;
    const tries = {
      "app to data, icmp": app.send("icmp", "10.0.2.10", { waitMs }),
      "data to app, tcp": data.send("tcp", "10.0.1.10", { waitMs }),
      "app out, tcp": app.send("tcp", "198.51.100.7", { waitMs }),
      "app out, icmp": app.send("icmp", "198.51.100.7", { waitMs }),
      "data out, tcp": data.send("tcp", "198.51.100.7", { waitMs }),
      "app to its router, icmp": app.send("icmp", "10.0.1.1", { waitMs }),
      "data to its router, icmp": data.send("icmp", "10.0.2.1", { waitMs }),
      "app to its router, tcp": app.send("tcp", "10.0.1.1", { waitMs }),
      "in to the gateway, icmp": internet.send("icmp", "203.0.113.20", { waitMs }),
      "in to the gateway, tcp": internet.send("tcp", "203.0.113.20", { waitMs }),
      "in by the other forward": internet.send("udp", "203.0.113.20", {
        port: 8081,
        from: "203.0.113.1",
        waitMs,
      }),
      "in by the forward": internet.send("tcp", "203.0.113.20", { port: 8080, waitMs }),
      "in to app by its address": internet.send("tcp", "10.0.1.10", { waitMs }),
    };
    const unanswered = [
      data.send("udp", "198.51.100.7", { from: "10.0.1.99", waitMs }),
      app.send("udp", "198.51.100.7", { from: "192.0.2.1", waitMs }),
      app.send("udp", "192.168.77.7", { waitMs }),
      internet.send("udp", "10.0.1.10", { from: "10.0.2.77", waitMs }),
      data.send("udp", "10.0.1.11", { from: "10.0.1.99", waitMs }),
      app.send("udp", "10.0.2.10", { from: "10.0.2.50", waitMs }),
      internet.send("udp", "203.0.113.20", { port: 8081, from: "10.0.1.77", waitMs }),
      internet.send("udp", "203.0.113.20", { port: 8081, from: "10.0.2.77", waitMs }),
    ];
    const answers = await Promise.all(
      Object.entries(tries).map(async ([name, answer]) => [name, await answer] as const),
    );
    await Promise.all(unanswered);
    const arrived = await Promise.all(machines.map((machine) => machine.arrivals()));
    return { ...Object.fromEntries(answers), arrived: arrived.map((each) => each.toSorted()) };
  }

  test("is missed by some packet when it is not there", async () => {
    const all = renderRuleset(want);
    await load(all);
    const intended = await reach(4);
    expect(intended).toEqual({
      "app to data, icmp": "passed",
      "data to app, tcp": { seenAs: "10.0.2.10" },
      "app out, tcp": { seenAs: "203.0.113.20" },
      "app out, icmp": "passed",
      "data out, tcp": "silent",
      "app to its router, icmp": "passed",
      "data to its router, icmp": "passed",
      "app to its router, tcp": "silent",
      "in to the gateway, icmp": "passed",
      "in to the gateway, tcp": "silent",
      "in by the other forward": { seenAs: "203.0.113.1" },
      "in by the forward": { seenAs: "203.0.113.1" },
      "in to app by its address": "silent",
      arrived: [[], ["203.0.113.1"], [], []],
    });
    const rules = all.flatMap((object) => ("rule" in object ? [JSON.stringify(object)] : []));
    expect(rules.length).toBeGreaterThan(15);
    const missedByNone: string[] = [];
    for (const rule of rules) {
      await load(all.filter((object) => JSON.stringify(object) !== rule));
      const isMissed = async (waitFactor: number) =>
        JSON.stringify(await reach(waitFactor)) !== JSON.stringify(intended);
      // On a busy machine a packet may take its time.
      if (!(await isMissed(1)) && !(await isMissed(4))) missedByNone.push(rule);
    }
    expect(missedByNone.filter((rule) => !secondLines.some((line) => line.test(rule)))).toEqual([]);
    // A chain that accepts what no rule names is as bad as a missing rule.
    for (const name of ["to_router", "through"]) {
      await load(
        all.map((object) => {
          const chain = object.chain as { name: string } | undefined;
          return chain?.name === name ? { chain: { ...chain, policy: "accept" } } : object;
        }),
      );
      expect(await reach(), `${name} accepts`).not.toEqual(intended);
    }
  });

  test("is one that the kernel accepts, however many subnets there are", async () => {
    const subnets = Array.from({ length: 200 }, (_, index) => ({
      subnetId: `sub_${index}`,
      tier: "app" as const,
      vlan: 1000 + index,
      cidr: `10.1.${index}.0/24`,
      gatewayAddress: `10.1.${index}.1`,
    }));
    const gateway = want.gateway && { ...want.gateway, subnetIds: subnets.map(({ subnetId }) => subnetId) };
    await load(renderRuleset({ ...want, subnets, gateway }));
  });
});
