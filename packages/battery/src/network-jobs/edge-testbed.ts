import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EdgeWiring } from "@kule/edge/edge-network";
import { LinuxEdge } from "@kule/edge/linux-edge";
import { LocalRunner } from "@kule/edge/local-runner";
import type { Runner } from "@kule/edge/runner";
import { type EdgeMachine, startEdgeMachine } from "@kule/lab/wires/edge-machine";
import { Holder } from "@kule/lab/wires/holder";
import { probeWires } from "@kule/lab/wires/wires";
import type { LabEdge } from "@kule/testing/lab-region-file";

const WIRING: EdgeWiring = {
  uplink: { interface: "vmbr0v10" },
  trunk: { interface: "vmbr1", mode: "bridge" },
};

type OutsideLink = { readonly ifname: string; readonly master?: string };

/**
 * A region's edge that is nothing but an edge: namespaces of this process's own, which agents in processes of their own
 * reach over SSH. Whatever becomes of the process, nothing of them is left on the machine.
 */
export class EdgeTestbed {
  readonly wiring = WIRING;
  /** As an agent on the edge runs commands. */
  readonly runner: Runner;
  readonly edge: LinuxEdge;
  readonly machine: EdgeMachine;
  readonly #holder: Holder;

  private constructor(holder: Holder, runner: Runner, machine: EdgeMachine) {
    this.#holder = holder;
    this.runner = runner;
    this.machine = machine;
    this.edge = new LinuxEdge(runner, WIRING);
  }

  /** How agents in processes of their own reach it. */
  get inRegionFile(): LabEdge {
    const { host, port, user, hostKey, keyFile } = this.machine;
    return { host, port, user, host_key: hostKey, key_file: keyFile };
  }

  /** Why there can be none on this machine; undefined when there can. */
  static readonly missing = probeWires;

  static async use<T>(work: (testbed: EdgeTestbed) => Promise<T>): Promise<T> {
    const holder = await Holder.start();
    const directory = mkdtempSync(join(tmpdir(), "kule-edge-"));
    try {
      await holder.run(["ip", "link", "add", "name", WIRING.uplink.interface, "type", "bridge"]);
      await holder.run(["ip", "link", "set", "dev", WIRING.uplink.interface, "up"]);
      const atBridges = () => holder.enter();
      const machine = await startEdgeMachine({ atBridges }, directory);
      const local = new LocalRunner();
      const runner: Runner = {
        run: ({ words, ...more }, signal) => {
          const [program = "nsenter", ...rest] = [...atBridges(), ...words];
          return local.run({ words: [program, ...rest], ...more }, signal);
        },
      };
      try {
        return await work(new EdgeTestbed(holder, runner, machine));
      } finally {
        await machine.stop();
      }
    } finally {
      await holder.end();
      rmSync(directory, { recursive: true, force: true });
    }
  }

  /**
   * Removes unused bridges: an edge keeps them for the next use of the VLAN, so the steps of a job would
   * depend on earlier ones. Nothing else may change the edge at the same time.
   */
  async removeIdleBridges(): Promise<void> {
    const links = JSON.parse(await this.#holder.run(["ip", "-j", "link", "show"])) as OutsideLink[];
    const used = new Set(links.map(({ master }) => master));
    for (const { ifname } of links)
      if (ifname.startsWith(`${WIRING.trunk.interface}v`) && !used.has(ifname))
        await this.byHand("ip", "link", "del", "dev", ifname);
  }

  /** A manual command at the edge. */
  async byHand(...words: readonly string[]): Promise<void> {
    await this.#holder.run(words);
  }
}
