// One agent process: the real claim loop with everything below it, on the simulation's clock. It can be
// killed, which leaves every promise it waits for pending forever, and suspended, which delays everything
// that reaches it.

import { workUntilStopped } from "@kule/agent/agent";
import { ClaimLoop } from "@kule/agent/claim-loop";
import { ControlPlane } from "@kule/agent/control-plane";
import type { Logger } from "@kule/agent/log";
import type { AgentRuntime } from "@kule/agent/runtime";
import { JOB_KINDS, runJob } from "@kule/programs/registry";
import { ProxmoxClient } from "@kule/proxmox/client";
import { ProxmoxHypervisor } from "@kule/proxmox/proxmox-hypervisor";
import { apiLink } from "./api-link.ts";
import type { Dice } from "./dice.ts";
import { hypervisorLink } from "./hypervisor-link.ts";
import { REGION_SETTINGS } from "./simulated-region.ts";
import type { Simulation } from "./simulation.ts";

/** A lease run of one job in this process, as its messages show it. */
export type SeenRun = {
  readonly jobId: string;
  readonly epoch: number;
  readonly vmid: number;
  /** It was answered that another agent holds the job. */
  isTold: boolean;
};

const ENDPOINTS = ["https://pve1:8006", "https://pve2:8006"];

export class SimulatedAgent {
  readonly name: string;
  readonly dice: Dice;
  readonly runs = new Map<number, SeenRun>();
  /** VM numbers with a changing call that was not answered, and without an observation since. */
  readonly unanswered = new Set<number>();
  /** VM numbers with a changing call that an endpoint refused before anything of it was sent. */
  readonly refused = new Set<number>();
  isAlive = true;
  /** When it last woke; 0 when it never slept. */
  wokeAt = 0;
  readonly #simulation: Simulation;
  readonly #stop = new AbortController();
  #sleepsUntil: number | null = null;
  #held: (() => void)[] = [];
  /** One sleep a process, so that no request is held back for as long as a removal buffer: that is a matter of days. */
  #hasSlept = false;

  constructor(simulation: Simulation, name: string) {
    this.#simulation = simulation;
    this.name = name;
    this.dice = simulation.dice.fork();
  }

  start(): void {
    const { clock } = this.#simulation;
    const skew = this.dice.between(-1, 1) * this.#simulation.plan.skewSeconds * 1000;
    const bootedAt = this.dice.whole(0, 1_000_000);
    const runtime: AgentRuntime = {
      now: () => clock.now() + skew,
      monotonic: () => clock.now() - bootedAt,
      random: this.dice.random,
      uuid: () => `claim-${this.name}-${this.dice.hex(8)}`,
      after: (milliseconds, callback) => clock.after(Math.max(1, milliseconds), () => this.reach(callback)),
      pause: (milliseconds, signal) => this.#pause(milliseconds, signal),
    };
    const log = this.#simulation.agentLog(this.name) as unknown as Logger;
    const crashPoint = (name: string) => this.#atPoint(name);
    const controlPlane = new ControlPlane({ calls: apiLink(this.#simulation, this), runtime, crashPoint });
    const client = new ProxmoxClient({
      endpoints: ENDPOINTS,
      ...this.#simulation.region.token,
      tls: { system: true },
      timers: runtime,
      transport: hypervisorLink(this.#simulation, this),
    });
    const world = {
      hypervisor: new ProxmoxHypervisor(client, runtime),
      settings: REGION_SETTINGS,
      runtime,
      edge: null,
      openSecret: () => "",
    };
    const claims = new ClaimLoop({
      controlPlane,
      runtime,
      log,
      crashPoint,
      capabilities: JOB_KINDS,
      publicKey: Buffer.alloc(32, 9).toString("base64"),
      agentVersion: "0.0.0",
      agentName: this.name,
      concurrency: this.#simulation.plan.concurrency,
      run: (job, host) => runJob(job, world, host),
    });
    workUntilStopped(claims, log, this.#stop.signal).then(
      () => {
        this.isAlive = false;
        this.#simulation.agentEnded(this);
      },
      (error: unknown) => {
        this.isAlive = false;
        this.#simulation.violation(
          `agent ${this.name} broke: ${error instanceof Error ? error.stack : error}`,
        );
      },
    );
  }

  /** Something reaches the process: an answer, a timer. At once, when it wakes, or never. */
  reach(act: () => void): void {
    if (!this.isAlive) return;
    if (this.#sleepsUntil === null) act();
    else this.#held.push(act);
  }

  /** SIGKILL. */
  kill(): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    this.#held = [];
    this.#simulation.mark("killed", this.name);
    this.#simulation.counts.crashes += 1;
    this.#simulation.agentEnded(this);
  }

  /** SIGSTOP, and SIGCONT after the time. */
  sleep(milliseconds: number): boolean {
    if (!this.isAlive || this.#sleepsUntil !== null || this.#hasSlept) return false;
    this.#hasSlept = true;
    const { clock } = this.#simulation;
    this.#sleepsUntil = clock.now() + milliseconds;
    this.#simulation.mark("sleeps", `${this.name} for ${Math.round(milliseconds)} ms`);
    this.#simulation.counts.sleeps += 1;
    clock.after(milliseconds, () => {
      if (!this.isAlive) return;
      this.#simulation.mark("wakes", this.name);
      this.#sleepsUntil = null;
      this.wokeAt = clock.now();
      // Each in its turn, so that what one of them starts can continue before the next arrives.
      for (const act of this.#held.splice(0)) clock.after(0, () => this.reach(act));
    });
    return true;
  }

  /** SIGTERM. */
  stop(): void {
    this.reach(() => {
      this.#simulation.mark("stops", this.name);
      this.#stop.abort();
    });
  }

  #pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const cancel = this.#simulation.clock.after(Math.max(1, milliseconds), () =>
        this.reach(() => {
          signal?.removeEventListener("abort", abort);
          resolve();
        }),
      );
      const abort = () => {
        cancel();
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", abort, { once: true });
    });
  }

  #atPoint(name: string): void | Promise<void> {
    const { plan, hasFaults } = this.#simulation;
    if (!this.isAlive) return new Promise(() => {});
    if (hasFaults) {
      if (this.dice.chance(plan.crashAtPoint)) {
        this.#simulation.mark("at", name);
        this.kill();
        return new Promise(() => {});
      }
      if (this.dice.chance(plan.pauseAtPoint)) {
        this.#simulation.mark("at", name);
        this.sleep(this.dice.pick([3_000, 45_000, 100_000, 135_000]));
      }
    }
    return this.whenAwake();
  }

  /** Nothing when it is awake; otherwise resolves when it wakes. */
  whenAwake(): void | Promise<void> {
    if (this.#sleepsUntil === null) return;
    return new Promise((resolve) => this.reach(resolve));
  }
}
