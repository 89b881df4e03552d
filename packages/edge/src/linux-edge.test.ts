import { requirePart } from "@kule/testing/parts";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { EdgeGateway, EdgeNetwork } from "./edge-network.ts";
import { LinuxEdge } from "./linux-edge.ts";
import { LocalRunner } from "./local-runner.ts";
import type { EdgeStep } from "./plan.ts";
import { type Machine, probeNamespaces, Wires } from "./testing/wires.ts";

const part = await requirePart("namespaces", probeNamespaces, import.meta.filename);

const run = process.pid.toString(36);
const network = (name: string, vlan: number, more: Partial<EdgeNetwork> = {}): EdgeNetwork => ({
  networkId: `net_${run}${name}`,
  generation: 1,
  subnets: [
    { subnetId: `sub_${name}app`, tier: "app", vlan, cidr: "10.0.1.0/24", gatewayAddress: "10.0.1.1" },
    {
      subnetId: `sub_${name}data`,
      tier: "data",
      vlan: vlan + 1,
      cidr: "10.0.2.0/24",
      gatewayAddress: "10.0.2.1",
    },
  ],
  gateway: null,
  ...more,
});
const gateway = (name: string, address: string, more: Partial<EdgeGateway> = {}): EdgeGateway => ({
  gatewayId: `gw_${name}`,
  address,
  prefixLength: 24,
  nextHop: "203.0.113.1",
  vlan: null,
  subnetIds: [`sub_${name}app`],
  portForwards: [],
  ...more,
});

describe.skipIf(part.missing)("an edge of Linux", { timeout: 60_000 }, () => {
  let wires: Wires;
  let edge: LinuxEdge;
  let internet: Machine;
  const applied = new Set<string>();

  beforeAll(async () => {
    wires = await Wires.lay();
    edge = new LinuxEdge(new LocalRunner(), wires.wiring);
    internet = await wires.internet("203.0.113.1/24", "198.51.100.7/32");
  });
  afterEach(async () => {
    for (const id of applied) await edge.remove(id);
    applied.clear();
  });
  afterAll(async () => {
    await wires?.end();
  });

  /** Until nothing is missing; answers all steps that it took. */
  async function converge(want: EdgeNetwork): Promise<EdgeStep[]> {
    applied.add(want.networkId);
    const done: EdgeStep[] = [];
    for (let look = 0; look < 4; look++) {
      const sight = await edge.observe(want);
      const plan = edge.plan(sight);
      if (plan.length === 0) return done;
      for (const step of plan) await edge.apply(step, sight);
      done.push(...plan);
    }
    throw new Error(`the edge never was as wanted: ${JSON.stringify(done)}`);
  }

  /** The entry of the uplink's bridge for the network's gateway. */
  async function pinOf(want: EdgeNetwork) {
    const { machine, seen } = await edge.observe(want);
    const mac = seen?.links.find(({ name }) => name === "up")?.mac;
    // A VLAN-aware bridge has an entry for each VLAN.
    const pin = machine.pins.find((each) => each.mac === mac);
    if (pin === undefined) throw new Error(`the bridge was not told of ${mac}`);
    return pin;
  }

  test("subnets of a network reach each other, and two networks with the same blocks do not", async () => {
    await converge(network("a", 201));
    await converge(network("b", 211));
    const [app, data, other] = await Promise.all([
      wires.server(201, "10.0.1.10/24", "10.0.1.1"),
      wires.server(202, "10.0.2.10/24", "10.0.2.1"),
      wires.server(211, "10.0.1.20/24", "10.0.1.1"),
    ]);
    expect(await app.send("icmp", "10.0.2.10")).toBe("passed");
    expect(await data.send("tcp", "10.0.1.10")).toEqual({ seenAs: "10.0.2.10" });
    expect(await app.send("udp", "10.0.2.10")).toEqual({ seenAs: "10.0.1.10" });
    for (const protocol of ["icmp", "tcp", "udp"] as const) {
      expect(await app.send(protocol, "10.0.1.20", { waitMs: 400 }), protocol).toBe("silent");
      expect(await other.send(protocol, "10.0.2.10", { waitMs: 400 }), protocol).toBe("silent");
      expect(await app.send(protocol, "198.51.100.7", { waitMs: 400 }), protocol).toBe("silent");
    }
  });

  test("a server with another default route has the whole network on its link, and nothing more of it than others", async () => {
    await converge(network("n", 291, { gateway: gateway("n", "203.0.113.18") }));
    await converge(network("o", 295));
    // As cloud-init leaves it: the network's prefix, and no router.
    const app = await wires.server(291, "10.0.1.10/16", null);
    const data = await wires.server(292, "10.0.2.10/24", "10.0.2.1");
    const other = await wires.server(295, "10.0.1.20/24", "10.0.1.1");
    expect(await app.send("tcp", "10.0.2.10")).toEqual({ seenAs: "10.0.1.10" });
    expect(await data.send("udp", "10.0.1.10")).toEqual({ seenAs: "10.0.2.10" });
    for (const beyond of ["10.0.2.1", "10.0.1.20", "10.0.3.10"])
      expect(await app.send("icmp", beyond, { waitMs: 400 }), beyond).toBe("silent");
    expect(await other.send("icmp", "10.0.2.10", { waitMs: 400 })).toBe("silent");
    // No machine on the uplink gets an answer for inside addresses.
    await internet.ip("route", "replace", "10.0.0.0/16", "dev", "eth0");
    expect(await internet.send("udp", "10.0.2.10", { waitMs: 400 })).toBe("silent");
    expect(await internet.ip("-j", "neigh", "show", "10.0.2.10")).not.toContain("lladdr");
    await internet.ip("route", "del", "10.0.0.0/16");
  });

  test("a gateway lets app out as its address, and data never", async () => {
    await converge(network("c", 221, { gateway: gateway("c", "203.0.113.10") }));
    const app = await wires.server(221, "10.0.1.10/24", "10.0.1.1");
    const data = await wires.server(222, "10.0.2.10/24", "10.0.2.1");
    expect(await app.send("tcp", "198.51.100.7")).toEqual({ seenAs: "203.0.113.10" });
    expect(await app.send("udp", "198.51.100.7")).toEqual({ seenAs: "203.0.113.10" });
    // Longer than a frame: fragments.
    expect(await app.send("icmp", "198.51.100.7", { bytes: 4000 })).toBe("passed");
    for (const protocol of ["icmp", "tcp", "udp"] as const)
      expect(await data.send(protocol, "198.51.100.7", { waitMs: 400 }), protocol).toBe("silent");
    // From outside there is no way in, not even for a sender that knows the inside addresses.
    await internet.ip("route", "replace", "10.0.0.0/16", "via", "203.0.113.10");
    expect(await internet.send("tcp", "10.0.1.10", { waitMs: 400 })).toBe("silent");
    expect(await internet.send("tcp", "203.0.113.10", { waitMs: 400 })).toBe("silent");
    expect(await internet.send("icmp", "203.0.113.10")).toBe("passed");
    await internet.ip("route", "del", "10.0.0.0/16");
  });

  test("a source outside of the subnet is dropped", async () => {
    await converge(network("d", 231, { gateway: gateway("d", "203.0.113.11") }));
    const app = await wires.server(231, "10.0.1.10/24", "10.0.1.1");
    const data = await wires.server(232, "10.0.2.10/24", "10.0.2.1");
    await data.ip("addr", "add", "10.0.1.99/32", "dev", "eth0");
    await app.ip("addr", "add", "192.0.2.1/32", "dev", "eth0");
    await internet.ip("addr", "add", "10.0.2.10/32", "dev", "eth0");
    await internet.ip("route", "replace", "10.0.1.0/24", "via", "203.0.113.11");
    await internet.arrivals();
    expect(await app.send("udp", "198.51.100.7")).toEqual({ seenAs: "203.0.113.11" });
    expect(await internet.arrivals()).toEqual(["203.0.113.11"]);
    await data.send("udp", "198.51.100.7", { from: "10.0.1.99", waitMs: 400 });
    await app.send("udp", "198.51.100.7", { from: "192.0.2.1", waitMs: 400 });
    await internet.send("udp", "10.0.1.10", { from: "10.0.2.10", waitMs: 400 });
    expect([...(await internet.arrivals()), ...(await app.arrivals())]).toEqual([]);
    await internet.ip("addr", "del", "10.0.2.10/32", "dev", "eth0");
    await internet.ip("route", "del", "10.0.1.0/24");
  });

  test("a port forward leads to its server and port, and to nothing else", async () => {
    const forward = {
      protocol: "tcp",
      listenPort: 8080,
      targetAddress: "10.0.1.10",
      targetPort: 80,
    } as const;
    await converge(network("e", 241, { gateway: gateway("e", "203.0.113.12", { portForwards: [forward] }) }));
    await wires.server(241, "10.0.1.10/24", "10.0.1.1");
    expect(await internet.send("tcp", "203.0.113.12", { port: 8080 })).toEqual({ seenAs: "203.0.113.1" });
    expect(await internet.send("tcp", "203.0.113.12", { port: 80, waitMs: 400 })).toBe("silent");
    expect(await internet.send("udp", "203.0.113.12", { port: 8080, waitMs: 400 })).toBe("silent");
    await converge(network("e", 241, { generation: 2, gateway: gateway("e", "203.0.113.12") }));
    expect(await internet.send("tcp", "203.0.113.12", { port: 8080, waitMs: 400 })).toBe("silent");
  });

  test("a change cuts the flows that it forbids and no other", async () => {
    const forward = {
      protocol: "tcp",
      listenPort: 8080,
      targetAddress: "10.0.1.10",
      targetPort: 80,
    } as const;
    const both = gateway("f", "203.0.113.13", { portForwards: [forward] });
    await converge(network("f", 251, { gateway: both }));
    const app = await wires.server(251, "10.0.1.10/24", "10.0.1.1");
    const data = await wires.server(252, "10.0.2.10/24", "10.0.2.1");
    const out = await app.connect("198.51.100.7");
    const across = await data.connect("10.0.1.10");
    const forwarded = await internet.connect("203.0.113.13", 8080);
    for (const flow of [out, across, forwarded]) expect(await flow.speak()).toBe("passed");

    await converge(network("f", 251, { generation: 2, gateway: { ...both, portForwards: [] } }));
    expect(await forwarded.speak(600)).toBe("silent");
    expect(await out.speak()).toBe("passed");
    await converge(network("f", 251, { generation: 3 }));
    expect(await out.speak(600)).toBe("silent");
    expect(await across.speak()).toBe("passed");
  });

  test("an address that the gateway has lost carries no packet more, of old flows neither", async () => {
    await converge(network("g", 261, { gateway: gateway("g", "203.0.113.14") }));
    const app = await wires.server(261, "10.0.1.10/24", "10.0.1.1");
    expect(await app.send("udp", "198.51.100.7")).toEqual({ seenAs: "203.0.113.14" });
    const old = await app.connect("198.51.100.7");
    await converge(network("g", 261, { generation: 2, gateway: gateway("g", "203.0.113.15") }));
    expect(await old.speak(600)).toBe("silent");
    expect(await app.send("udp", "198.51.100.7")).toEqual({ seenAs: "203.0.113.15" });
  });

  test("manual changes on the edge are corrected", async () => {
    const want = network("h", 271, { gateway: gateway("h", "203.0.113.16") });
    await converge(want);
    const runner = new LocalRunner();
    const inside = (...words: string[]) =>
      runner.run({ words: ["ip", "netns", "exec", `kule-${want.networkId}`, ...words] });
    await inside("nft", "insert", "rule", "inet", "kule", "through", "accept");
    await inside("sysctl", "-w", "net.ipv4.conf.all.rp_filter=0");
    await inside("sysctl", "-w", "net.ipv4.conf.s272.proxy_arp=0", "net.ipv4.conf.up.proxy_arp=1");
    await inside("ip", "addr", "add", "10.9.9.9/24", "dev", "s271");
    await inside("ip", "route", "del", "default");
    await inside("ip", "link", "set", "s272", "down");
    await inside("ip", "route", "add", "172.16.0.0/12", "via", "10.0.1.77");
    const { mac, port } = await pinOf(want);
    await runner.run({ words: ["bridge", "fdb", "del", mac, "dev", port, "master"] });
    const done = await converge(want);
    expect(done.map((step) => step.do)).toEqual([
      "replace-rules",
      "set",
      "bring-up",
      "set",
      "bring-up",
      "set",
      "plug",
      "unroute",
      "route",
    ]);
  });

  test("an older state is never applied again, and of two writers one is refused", async () => {
    const want = network("i", 281);
    await converge(want);
    const sight = await edge.observe({ ...want, generation: 2 });
    const [step] = edge.plan(sight);
    await converge({ ...want, generation: 3 });
    await expect(edge.apply(step as EdgeStep, sight)).rejects.toThrow(/generation_1|No such file/);
    const late = await edge.observe({ ...want, generation: 2 });
    expect(() => edge.plan(late)).toThrow("generation 3 is live");
    expect(await converge({ ...want, generation: 3 })).toEqual([]);
  });
});
