import { requirePart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EdgeNetwork } from "./edge-network.ts";
import { LinuxEdge } from "./linux-edge.ts";
import { LocalRunner } from "./local-runner.ts";
import type { EdgeStep } from "./plan.ts";
import type { Command, Runner } from "./runner.ts";
import { type Machine, probeNamespaces, Wires } from "./testing/wires.ts";

const part = await requirePart("namespaces", probeNamespaces, import.meta.filename);

/** Runs so many commands that change something, and then none any more: as after a SIGKILL. */
class KilledRunner implements Runner {
  readonly #runner = new LocalRunner();
  #left: number;
  constructor(commands: number) {
    this.#left = commands;
  }
  run(command: Command, signal?: AbortSignal) {
    const words = command.words.join(" ");
    const onlyLooks = /-j|sysctl -e/.test(words) && !/nft -j -f/.test(words);
    const isScratch = words.startsWith("unshare");
    if (!onlyLooks && !isScratch) {
      if (this.#left === 0) return Promise.reject(new Error("killed"));
      this.#left -= 1;
    }
    return this.#runner.run(command, signal);
  }
}

const networkId = `net_${process.pid.toString(36)}killed`;
const app = {
  subnetId: "sub_kapp",
  tier: "app",
  vlan: 321,
  cidr: "10.0.1.0/24",
  gatewayAddress: "10.0.1.1",
} as const;
const data = {
  subnetId: "sub_kdata",
  tier: "data",
  vlan: 322,
  cidr: "10.0.2.0/24",
  gatewayAddress: "10.0.2.1",
} as const;
const mgmt = {
  subnetId: "sub_kmgmt",
  tier: "mgmt",
  vlan: 323,
  cidr: "10.0.3.0/24",
  gatewayAddress: "10.0.3.1",
} as const;
const gateway = {
  gatewayId: "gw_killed",
  address: "203.0.113.30",
  prefixLength: 24,
  nextHop: "203.0.113.1",
  vlan: null,
  portForwards: [],
};
/**
 * The new state connects one subnet to the gateway, disconnects another, and has one subnet less and one
 * more.
 */
const before: EdgeNetwork = {
  networkId,
  generation: 1,
  subnets: [app, data],
  gateway: { ...gateway, subnetIds: [app.subnetId] },
};
const after: EdgeNetwork = {
  networkId,
  generation: 2,
  subnets: [data, mgmt],
  gateway: { ...gateway, address: "203.0.113.31", subnetIds: [mgmt.subnetId] },
};

describe.skipIf(part.missing)("an edge whose agent is killed", { timeout: 120_000 }, () => {
  let wires: Wires;
  let internet: Machine;
  let machines: { readonly app: Machine; readonly data: Machine; readonly mgmt: Machine };

  beforeAll(async () => {
    wires = await Wires.lay();
    internet = await wires.internet("203.0.113.1/24", "198.51.100.7/32");
    const [one, two, three] = await Promise.all([
      wires.server(app.vlan, "10.0.1.10/24", app.gatewayAddress),
      wires.server(data.vlan, "10.0.2.10/24", data.gatewayAddress),
      wires.server(mgmt.vlan, "10.0.3.10/24", mgmt.gatewayAddress),
    ]);
    machines = { app: one, data: two, mgmt: three };
  });
  afterAll(async () => {
    await new LinuxEdge(new LocalRunner(), wires.wiring).remove(networkId);
    await wires?.end();
  });

  /** @returns whether it was killed on the way */
  async function apply(want: EdgeNetwork, runner: Runner): Promise<boolean> {
    const edge = new LinuxEdge(runner, wires.wiring);
    try {
      for (let look = 0; look < 4; look++) {
        const sight = await edge.observe(want);
        const plan: readonly EdgeStep[] = edge.plan(sight);
        if (plan.length === 0) return false;
        for (const step of plan) await edge.apply(step, sight);
      }
    } catch (error) {
      if (error instanceof Error && error.message === "killed") return true;
      throw error;
    }
    throw new Error("the edge never was as wanted");
  }

  /** The ports of the uplink's bridge with a permanent entry: one for each gateway. */
  async function staticPorts(): Promise<string[]> {
    const { stdout } = await new LocalRunner().run({
      words: ["bridge", "-j", "fdb", "show", "br", wires.wiring.uplink.interface],
    });
    const entries = JSON.parse(stdout) as { ifname: string; state?: string }[];
    // A VLAN-aware bridge has an entry for each VLAN.
    return [...new Set(entries.filter(({ state }) => state === "static").map(({ ifname }) => ifname))];
  }

  async function reach(): Promise<Record<string, boolean>> {
    await internet.arrivals();
    // After a failed ARP request a machine retries only after a second.
    for (const machine of [...Object.values(machines), internet])
      await machine.ip("neigh", "flush", "dev", "eth0");
    const tries = Object.entries({
      "app out": machines.app.send("udp", "198.51.100.7", { waitMs: 300 }),
      "mgmt out": machines.mgmt.send("udp", "198.51.100.7", { waitMs: 300 }),
      "data out": machines.data.send("udp", "198.51.100.7", { waitMs: 300 }),
      "app to data": machines.app.send("udp", "10.0.2.10", { waitMs: 300 }),
      "mgmt to data": machines.mgmt.send("udp", "10.0.2.10", { waitMs: 300 }),
      "app to mgmt": machines.app.send("udp", "10.0.3.10", { waitMs: 300 }),
    });
    const found = await Promise.all(
      tries.map(async ([name, answer]) => [name, (await answer) !== "silent"] as const),
    );
    const sources = await internet.arrivals();
    return {
      ...Object.fromEntries(found),
      strangers: sources.some((each) => !/^203\.0\.113\.3[01]$/.test(each)),
    };
  }

  test("between any two commands leaves nothing open that neither state has, and continues from there", async () => {
    const edge = new LinuxEdge(new LocalRunner(), wires.wiring);
    await apply(before, new LocalRunner());
    await expect
      .poll(reach, { timeout: 10_000 })
      .toMatchObject({ "app out": true, "mgmt out": false, "data out": false, "app to data": true });
    let kills = 0;
    for (let commands = 0; ; commands++) {
      await edge.remove(networkId);
      await apply(before, new LocalRunner());
      if (!(await apply(after, new KilledRunner(commands)))) break;
      kills += 1;
      const between = await reach();
      for (const [name, passes] of Object.entries(between))
        if (passes)
          expect(["app out", "app to data", "mgmt out", "mgmt to data"], `after ${commands}`).toContain(name);
      expect(between["data out"] || between["app to mgmt"] || between.strangers).toBe(false);
      await apply(after, new LocalRunner());
      await expect.poll(reach, { timeout: 10_000, message: `gone on after ${commands}` }).toEqual({
        "app out": false,
        "mgmt out": true,
        "data out": false,
        "app to data": false,
        "mgmt to data": true,
        "app to mgmt": false,
        strangers: false,
      });
    }
    expect(kills).toBeGreaterThan(6);
  });

  test("in the middle of creating or removing a network leaves a state that the next run completes", async () => {
    const edge = new LinuxEdge(new LocalRunner(), wires.wiring);
    let kills = 0;
    for (let commands = 0; ; commands++) {
      await edge.remove(networkId);
      if (!(await apply(before, new KilledRunner(commands)))) break;
      kills += 1;
      expect(await apply(before, new LocalRunner())).toBe(false);
      expect(await staticPorts(), `gone on after ${commands}`).toHaveLength(1);
    }
    expect(kills).toBeGreaterThan(8);
    await edge.remove(networkId);
    await edge.remove(networkId);
    expect(await edge.networks()).not.toContain(networkId);
  });
});
