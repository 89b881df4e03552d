import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EdgeWiring } from "@kule/edge/edge-network";
import { LinuxEdge } from "@kule/edge/linux-edge";
import type { Runner } from "@kule/edge/runner";
import type { EdgeMachine } from "@kule/lab/wires/edge-machine";
import { Holder } from "@kule/lab/wires/holder";
import { probeWires } from "@kule/lab/wires/wires";
import type { LabEdge } from "@kule/testing/lab-region-file";
import { EdgeProcess } from "./edge-process.ts";

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
  readonly machine: Omit<EdgeMachine, "stop">;
  readonly #holder: Holder;

  private constructor(holder: Holder, process: EdgeProcess) {
    this.#holder = holder;
    this.runner = process;
    this.machine = process.machine;
    this.edge = new LinuxEdge(process, WIRING);
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
      const process = await EdgeProcess.start(holder.enter(), directory);
      try {
        return await work(new EdgeTestbed(holder, process));
      } finally {
        await process.end();
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
