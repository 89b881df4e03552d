import { readFileSync } from "node:fs";
import { newKey } from "@kule/lab/wires/kept-key";
import { probeWires } from "@kule/lab/wires/wires";
import { vm, WiredLab } from "@kule/testing/packets/wired-lab";
import { requirePart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EdgeNetwork } from "./edge-network.ts";
import { LinuxEdge } from "./linux-edge.ts";
import { SshRunner } from "./ssh-runner.ts";

const part = await requirePart("wires", probeWires, import.meta.filename);
const silent = { waitMs: 700 };

const network: EdgeNetwork = {
  networkId: "net_lab",
  generation: 1,
  subnets: [
    { subnetId: "sub_app", tier: "app", vlan: 401, cidr: "10.0.1.0/24", gatewayAddress: "10.0.1.1" },
    { subnetId: "sub_data", tier: "data", vlan: 402, cidr: "10.0.2.0/24", gatewayAddress: "10.0.2.1" },
  ],
  gateway: {
    gatewayId: "gw_lab",
    address: "203.0.113.50",
    prefixLength: 24,
    nextHop: "203.0.113.1",
    vlan: null,
    subnetIds: ["sub_app"],
    portForwards: [{ protocol: "tcp", listenPort: 8080, targetAddress: "10.0.1.5", targetPort: 80 }],
  },
};

describe.skipIf(part.missing)("the edge of a lab", { timeout: 60_000 }, () => {
  let lab: WiredLab;
  let runner: SshRunner;
  let edge: LinuxEdge;

  beforeAll(async () => {
    lab = await WiredLab.start({
      networks: [{ bridge: "vmbr0", vlan: null, addresses: ["203.0.113.1/24"] }],
      beyond: ["198.51.100.1"],
    });
    const machine = lab.lab.edge;
    if (machine === undefined) throw new Error("this lab has no edge");
    const { host, port, user, hostKey, keyFile } = machine;
    runner = new SshRunner({ host, port, user, hostKey, key: readFileSync(keyFile, "utf8") });
    edge = new LinuxEdge(runner, {
      uplink: { interface: "vmbr0" },
      trunk: { interface: "vmbr1", mode: "bridge" },
    });
  });
  afterAll(async () => {
    runner?.end();
    await lab?.end();
  });

  async function converge(want: EdgeNetwork): Promise<void> {
    for (let look = 0; look < 4; look++) {
      const sight = await edge.observe(want);
      const plan = edge.plan(sight);
      if (plan.length === 0) return;
      for (const step of plan) await edge.apply(step, sight);
    }
    throw new Error("the edge never was as wanted");
  }

  /** The port of the uplink with a permanent entry for the MAC. */
  async function portsOf(mac: string): Promise<string[]> {
    const { stdout } = await runner.run({ words: ["bridge", "-j", "fdb", "show", "br", "vmbr0"] });
    const entries = JSON.parse(stdout) as { mac: string; ifname: string; state?: string }[];
    return entries.filter((each) => each.mac === mac && each.state === "static").map(({ ifname }) => ifname);
  }

  const inSubnet = (vmid: number, tag: number, ip: string) =>
    lab.running(vmid, [{ net: `virtio,bridge=vmbr1,tag=${tag},firewall=1`, ip }]);

  test("joins the subnets of real machines' networks, behind their firewalls, and leads out where it may", async () => {
    const app = await inSubnet(32001, 401, "ip=10.0.1.5/24,gw=10.0.1.1");
    const data = await inSubnet(32002, 402, "ip=10.0.2.5/24,gw=10.0.2.1");
    const other = await inSubnet(32003, 411, "ip=10.0.1.9/24,gw=10.0.1.1");
    const internet = await lab.internet();
    expect(await app.send("icmp", "10.0.2.5", silent)).toBe("silent");

    await converge(network);
    expect(await app.send("tcp", "10.0.2.5")).toEqual({ seenAs: "10.0.1.5" });
    expect(await data.send("icmp", "10.0.1.5", { bytes: 4000 })).toBe("passed");
    expect(await app.send("tcp", "198.51.100.1")).toEqual({ seenAs: "203.0.113.50" });
    expect(await data.send("tcp", "198.51.100.1", silent)).toBe("silent");
    expect(await internet.send("tcp", "203.0.113.50", { port: 8080 })).toEqual({ seenAs: "203.0.113.1" });
    expect(await other.send("icmp", "10.0.2.5", silent)).toBe("silent");
    expect(await other.send("icmp", "10.0.1.5", silent)).toBe("silent");

    // The uplink is a bridge with the one port of the gateway.
    const mac = (await edge.observe(network)).seen?.links.find(({ name }) => name === "up")?.mac ?? "";
    expect(await portsOf(mac)).toHaveLength(1);
    await converge({ ...network, generation: 2, gateway: null });
    expect(await portsOf(mac)).toEqual([]);
    await converge({ ...network, generation: 3 });
    expect(await portsOf(mac)).toHaveLength(1);

    // Traffic that the VM's own firewall forbids is not let in by the edge.
    await lab.change(`PUT ${vm(32002)}/firewall/options`, { policy_in: "DROP" });
    expect(await app.send("tcp", "10.0.2.5", silent)).toBe("silent");
    expect(await data.send("tcp", "10.0.1.5")).toEqual({ seenAs: "10.0.2.5" });
  });

  test("is an SSH machine: its host key is checked, and it lists its networks", async () => {
    expect(await edge.networks()).toEqual(["net_lab"]);
    await edge.remove("net_lab");
    expect(await edge.networks()).toEqual([]);
    const { host = "", port = 0, hostKey = "" } = lab.lab.edge ?? {};
    const stranger = new SshRunner({ host, port, user: "root", hostKey, key: newKey() });
    await expect(stranger.run({ words: ["true"] })).rejects.toThrow(/authentication/i);
    stranger.end();
  });
});
