import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import type { Answer, ApiCaller } from "@kule/api/testing/api-caller";
import { ApiWorld } from "@kule/api/testing/api-world";
import { TestAgent } from "@kule/api/testing/test-agent";
import type { EdgeNetwork, EdgeWiring } from "@kule/edge/edge-network";
import { LinuxEdge } from "@kule/edge/linux-edge";
import type { Runner } from "@kule/edge/runner";
import { SshRunner } from "@kule/edge/ssh-runner";
import { makeBridge } from "@kule/lab/wires/plan-wires";
import type { Wires } from "@kule/lab/wires/wires";
import { type LabRegion, startLabRegion } from "@kule/programs/testing/lab-region";
import { nodeFilter } from "@kule/proxmox/node-filter";
import { PacketStation } from "@kule/testing/packets/packet-station";
import pg from "pg";
import { LocalAgent } from "../job-kinds/local-agent.ts";
import { ROOM } from "../job-kinds/local-scene.ts";

/** In place of the internet: the next hops of the public network, and a host beyond them. */
export const outside = {
  nextHops: { 4: "203.0.113.1", 6: "2001:db8:7::1" },
  beyond: { 4: "198.51.100.1", 6: "2001:db8:ffff::1" },
} as const;

/** Where the public network of the lab's region is. */
const publicBridge = { bridge: "vmbr0", vlan: 10 } as const;

export const wiring: EdgeWiring = {
  uplink: { interface: `${publicBridge.bridge}v${publicBridge.vlan}` },
  trunk: { interface: "vmbr1", mode: "bridge" },
};

/** The API, an agent, a lab whose machines send packets, and an edge between them, in one process. */
export class PacketScene {
  readonly region = "lab1";
  readonly api: ApiWorld;
  readonly lab: LabRegion;
  /** Where the edge's commands go. */
  readonly runner: Runner;
  readonly edge: LinuxEdge;
  readonly station: PacketStation;
  readonly owner: pg.Pool;
  readonly #agent: LocalAgent;

  private constructor(api: ApiWorld, lab: LabRegion, claims: TestAgent, runner: SshRunner) {
    this.api = api;
    this.lab = lab;
    this.runner = runner;
    this.edge = new LinuxEdge(runner, wiring);
    this.#agent = new LocalAgent(claims, { ...lab.world, edge: this.edge });
    this.station = new PacketStation(this.wires.atBridges());
    this.owner = new pg.Pool({ connectionString: api.database.ownerUrl, max: 2 });
    this.owner.on("error", () => {});
  }

  static async use<T>(work: (scene: PacketScene) => Promise<T>): Promise<T> {
    const api = await ApiWorld.open({ removalBufferSeconds: 3600 });
    const { nextHops, beyond } = outside;
    const lab = await startLabRegion(
      {},
      {
        wires: {
          networks: [{ ...publicBridge, addresses: [`${nextHops[4]}/24`, `${nextHops[6]}/64`] }],
          beyond: [beyond[4], beyond[6]],
        },
        nodeRules: nodeFilter,
      },
    );
    const runner = edgeRunner(lab);
    try {
      const { agent } = await api.addRegion("lab1", ROOM);
      const health = { agent_version: "0.0.0", hypervisor: { kind: "proxmox", reachable: true } };
      accepted(await agent.post("/agent/health", { ...health, edge: { reachable: true } }));
      const scene = new PacketScene(api, lab, new TestAgent(agent), runner);
      try {
        return await work(scene);
      } finally {
        await scene.station.end();
        await scene.owner.end();
      }
    } finally {
      runner.end();
      await lab.stop();
      await api.close();
    }
  }

  get wires(): Wires {
    const { wires } = this.lab.lab;
    if (wires === undefined) throw new Error("this lab has no wires");
    return wires;
  }

  async newOrganisation(slug: string): Promise<{ readonly id: string; readonly api: ApiCaller }> {
    const { id } = accepted(await this.api.operator.post("/organisations", { slug, name: slug }));
    return { id, api: this.api.operator.with({ "Kule-Organisation": id }) };
  }

  /** Does all jobs there are; each must succeed. */
  async work(): Promise<number> {
    for (let done = 0; ; done += 1) {
      if ((await this.#agent.workOnce()) !== null) continue;
      const { rows } = await this.owner.query(
        "select kind, status, error, internal_error from job where status <> 'succeeded'",
      );
      if (rows.length > 0) throw new Error(`jobs that did not succeed: ${JSON.stringify(rows)}`);
      // The firewall's run follows one turn of the event loop after the call that causes it.
      await delay(10);
      await this.wires.settled();
      return done;
    }
  }

  /** A machine in a VLAN that is no VM of Kule's, with no firewall before it; it is called `eth0` there. */
  async plugIn(namespace: string, vlan: number): Promise<void> {
    const [bridge, port] = [`${wiring.trunk.interface}v${vlan}`, `rogue${vlan}`];
    for (const words of [
      makeBridge(bridge).words,
      ["ip", "netns", "add", namespace],
      ["ip", "link", "add", "name", port, "type", "veth", "peer", "name", "eth0", "netns", namespace],
      ["ip", "link", "set", "dev", port, "master", bridge],
      ["ip", "link", "set", "dev", port, "up"],
      // It is never contacted; without an address it is not visible from within.
      ["ip", "-n", namespace, "addr", "add", "192.0.2.1/32", "dev", "eth0"],
      ["ip", "-n", namespace, "link", "set", "dev", "eth0", "up"],
    ])
      await this.#atBridges(...words);
    await this.#untilRunning(namespace);
  }

  /** The kernel marks a link as running a moment after both its ends are up, and until then Node does not list it. */
  async #untilRunning(namespace: string): Promise<void> {
    for (let look = 0; look < 500; look += 1) {
      if ((await this.#atBridges("ip", "-n", namespace, "link", "show", "dev", "eth0")).includes("state UP"))
        return;
      await delay(20);
    }
    throw new Error(`eth0 of ${namespace} is not running 10 s after it was plugged in`);
  }

  /**
   * Every machine resolves its neighbours again. A bridge learns a false source MAC of the guest on it;
   * packets of that guest to the true owner then get lost until the owner sends one.
   */
  async forgetNeighbours(namespaces: readonly string[]): Promise<void> {
    for (const namespace of namespaces) await this.#atBridges("ip", "-n", namespace, "neigh", "flush", "all");
  }

  /** @returns what the command wrote */
  async #atBridges(...words: readonly string[]): Promise<string> {
    const [program = "", ...rest] = [...this.wires.atBridges(), ...words];
    return (await promisify(execFile)(program, rest)).stdout;
  }

  /** Past the product: until nothing is missing. */
  async converge(want: EdgeNetwork, edge = this.edge): Promise<void> {
    for (let look = 0; look < 4; look += 1) {
      const sight = await edge.observe(want);
      const plan = edge.plan(sight);
      if (plan.length === 0) return;
      for (const step of plan) await edge.apply(step, sight);
    }
    throw new Error(`the edge never was as wanted for ${want.networkId}`);
  }
}

function edgeRunner({ lab }: LabRegion): SshRunner {
  if (lab.edge === undefined) throw new Error("this lab has no edge");
  const { host, port, user, hostKey, keyFile } = lab.edge;
  return new SshRunner({ host, port, user, hostKey, key: readFileSync(keyFile, "utf8") });
}

export function accepted(answer: Answer): Answer["body"] {
  if (answer.status >= 300) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}
