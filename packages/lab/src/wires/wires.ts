import { type ChildProcess, spawn } from "node:child_process";
import { taskArguments } from "../console/network-task.ts";
import { realImageOf } from "../real-guests/real-images.ts";
import { clusterOf, type Region } from "../region.ts";
import { firewallRules } from "./firewall-rules.ts";
import { Holder } from "./holder.ts";
import { type Internet, internetCommands, internetNamespace } from "./internet.ts";
import { missingPrograms } from "./missing-programs.ts";
import { namespaceOf, planWires, takeAway, type WireCommand } from "./plan-wires.ts";
import { filteredWires, networkAtMs, type WiredMachine, wiredMachines } from "./wired-machines.ts";

/**
 * pve-firewall reads its files at this interval, in simulated seconds: a rule that was answered is not yet in
 * force.
 */
const FIREWALL_SECONDS = 10;

/** Why this machine cannot lay wires; undefined when it can. */
export async function probeWires(): Promise<string | undefined> {
  if (process.platform !== "linux") return "network namespaces need Linux";
  if (process.getuid?.() !== 0) return "network namespaces need root";
  try {
    const missing = await missingPrograms();
    if (missing !== undefined) return missing;
    const holder = await Holder.start();
    await holder.run(["nft", "-f", "-"], firewallRules([], true)).finally(() => holder.end());
    return undefined;
  } catch (error) {
    return `${error instanceof Error ? error.message.split("\n")[0] : error}`;
  }
}

/**
 * Real packets for simulated machines: each running one is a network namespace, connected to the bridges that
 * its config names, with the addresses that its guest has configured, behind the cluster's firewall.
 */
export class Wires {
  readonly #region: Region;
  /** The process whose namespaces have all bridges; real guests live inside it. */
  readonly holder: Holder;
  #laid: readonly WiredMachine[] = [];
  #rules = "";
  /** The present or last update: the next one follows it. */
  #work: Promise<void> = Promise.resolve();
  #isDue = false;
  #isFirewallDue = false;
  #isRoundDue = false;
  #hasEnded = false;
  readonly #timers = new Set<() => void>();
  #web: ChildProcess | undefined;

  private constructor(region: Region, holder: Holder) {
    this.#region = region;
    this.holder = holder;
  }

  /**
   * @param nodeRules rules on the nodes in addition to their firewall, in nft's syntax
   * @throws WiresFailed on a machine where {@link probeWires} has a reason, and for rules that nft refuses
   */
  static async lay(region: Region, internet: Internet, nodeRules = ""): Promise<Wires> {
    const holder = await Holder.start();
    const wires = new Wires(region, holder);
    try {
      await wires.#run({ words: ["nft", "-f", "-"], input: nodeRules });
      for (const command of internetCommands(internet)) await wires.#run(command);
      if (internet.hasWeb) wires.#serveWeb();
      wires.#isFirewallDue = true;
      await wires.#look();
    } catch (error) {
      await holder.end();
      throw error;
    }
    region.store.onCommit((changes) => {
      const of = (...names: readonly string[]) => changes.some(([collection]) => names.includes(collection));
      if (of("vm")) wires.#soon();
      if (of("vm", "firewall", "cluster")) wires.#filterSoon();
    });
    return wires;
  }

  /** The prefix of a command that runs it in a running machine's network. */
  inMachine(vmid: number): readonly string[] {
    return this.holder.enter(namespaceOf(vmid));
  }

  /** The prefix of a command that runs it somewhere beyond the region's public networks. */
  inInternet(): readonly string[] {
    return this.holder.enter(internetNamespace);
  }

  /** The prefix of a command that runs it where the bridges of all nodes are: the place for an edge. */
  atBridges(): readonly string[] {
    return this.holder.enter();
  }

  /**
   * Resolves when the region's present state has been built, except for what has a delay.
   * @throws WiresFailed
   */
  async settled(): Promise<void> {
    for (let seen: Promise<void> | null = null; seen !== this.#work; ) {
      seen = this.#work;
      await seen;
    }
  }

  async end(): Promise<void> {
    this.#hasEnded = true;
    for (const cancel of this.#timers) cancel();
    await this.#work.catch(() => {});
    this.#web?.kill("SIGKILL");
    await this.holder.end();
  }

  /** It ends when its standard input does, which is when the lab does. */
  #serveWeb(): void {
    const [program = "", ...words] = [
      ...this.inInternet(),
      ...taskArguments({ do: "serve", port: 80, name: "the internet" }),
    ];
    const env = { PATH: process.env.PATH, LC_ALL: "C" };
    this.#web = spawn(program, words, { stdio: ["pipe", "ignore", "inherit"], cwd: "/", env });
    this.#web.on("error", (error) => process.stderr.write(`lab: its internet's web: ${error.message}\n`));
    this.#web.stdin?.on("error", () => {});
  }

  /** Commits come in bursts: one update covers all that have come by the time it begins. */
  #soon(): void {
    if (this.#isDue || this.#hasEnded) return;
    this.#isDue = true;
    this.#work = this.#work
      .catch(() => {})
      .then(() => {
        this.#isDue = false;
        return this.#hasEnded ? undefined : this.#look();
      });
    // `settled` throws it; other readers find it on the lab's standard error.
    this.#work.catch((error: unknown) => process.stderr.write(`lab: ${String(error)}\n`));
  }

  /** As a daemon's loop would: a change waits for the next round, and starting a VM does not hurry it. */
  #filterSoon(): void {
    if (this.#isRoundDue) return;
    this.#isRoundDue = true;
    this.#after(FIREWALL_SECONDS * this.#region.runtime.timeScale * 1000, () => {
      this.#isRoundDue = false;
      this.#isFirewallDue = true;
      this.#soon();
    });
  }

  #after(milliseconds: number, then: () => void): void {
    const cancel = this.#region.runtime.after(Math.max(0, milliseconds), () => {
      this.#timers.delete(cancel);
      then();
    });
    this.#timers.add(cancel);
  }

  async #look(): Promise<void> {
    const { store, runtime } = this.#region;
    const nowMs = runtime.nowMs();
    const wanted = wiredMachines(store.all("vm"), { nowMs, timeScale: runtime.timeScale }, (vm) => {
      return realImageOf(this.#region.realImages, vm)?.firstId ?? null;
    });
    for (const vm of store.all("vm")) {
      const upAtMs = networkAtMs(vm, runtime.timeScale);
      if (upAtMs !== null && upAtMs > nowMs) this.#after(upAtMs - nowMs, () => this.#soon());
    }
    try {
      if (this.#isFirewallDue) await this.#filter();
      for (const command of planWires(this.#laid, wanted)) await this.#run(command);
      this.#laid = wanted;
    } catch (error) {
      // How far it came is not known: all of it is removed, and the next update builds it again.
      for (const command of [...this.#laid, ...wanted].flatMap(takeAway))
        await this.#run(command).catch(() => {});
      this.#laid = [];
      throw error;
    }
  }

  async #filter(): Promise<void> {
    const { store } = this.#region;
    this.#isFirewallDue = false;
    const isClusterOn = clusterOf(this.#region).firewallOptions.enable === "1";
    const wires = filteredWires(store.all("vm"), isClusterOn, (vmid) => store.get("firewall", String(vmid)));
    const rules = firewallRules(wires, isClusterOn);
    if (rules === this.#rules) return;
    await this.#run({ words: ["nft", "-f", "-"], input: rules });
    this.#rules = rules;
  }

  async #run({ words, input }: WireCommand): Promise<void> {
    await this.holder.run(words, input);
  }
}
