// One seed: a control plane, a region, two or three agents, people with requests, and faults; then the faults
// end, and every request has to be completed.

import { isDone } from "../reference-model/model-state.ts";
import { VirtualClock } from "./clock.ts";
import { ControlPlaneModel, type ControlPlaneSettings } from "./control-plane.ts";
import { Dice } from "./dice.ts";
import { checkEnd } from "./end-checks.ts";
import { drawFaults, type FaultPlan } from "./fault-plan.ts";
import { startFirewallRequests } from "./firewall-requests.ts";
import { startFaults } from "./injected-faults.ts";
import { startRequests } from "./requests.ts";
import { SimulatedAgent } from "./simulated-agent.ts";
import { SimulatedApi } from "./simulated-api.ts";
import { SimulatedRegion } from "./simulated-region.ts";
import { Witness } from "./witness.ts";

export type Counts = Record<
  | "jobs"
  | "claims"
  | "reports"
  | "refusedReports"
  | "apiCalls"
  | "apiFaults"
  | "hypervisorCalls"
  | "hypervisorFaults"
  | "taskFaults"
  | "crashes"
  | "sleeps"
  | "lateChanges"
  | "lateDrift"
  | "lateDestroys"
  | "lateClones"
  | "exhausted"
  | "permanentFailures",
  number
>;

export function noCounts(): Counts {
  return {
    jobs: 0,
    claims: 0,
    reports: 0,
    refusedReports: 0,
    apiCalls: 0,
    apiFaults: 0,
    hypervisorCalls: 0,
    hypervisorFaults: 0,
    taskFaults: 0,
    crashes: 0,
    sleeps: 0,
    lateChanges: 0,
    lateDrift: 0,
    lateDestroys: 0,
    lateClones: 0,
    exhausted: 0,
    permanentFailures: 0,
  };
}

export type SeedResult = {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly counts: Counts;
  /** From the end of the trouble until no job was open. */
  readonly recoverySeconds: number;
  /** Of everything that happened, in its order. */
  readonly hash: number;
};

const START = Date.UTC(2026, 0, 1);
const LEASE_SECONDS = 90;
/** After the trouble, and after the last removal buffer: backoffs of five minutes, leases, and the work itself. */
export const LIVENESS_SECONDS = 1_800;
const FIREWALL_DICE = 0x66_77_61_6c;
/** An agent that is gone is started again after this. */
const RESTART_MILLISECONDS = [500, 8_000] as const;

export class Simulation {
  readonly dice: Dice;
  readonly plan: FaultPlan;
  readonly clock = new VirtualClock(START);
  readonly settings: ControlPlaneSettings;
  readonly model: ControlPlaneModel;
  readonly api: SimulatedApi;
  readonly region: SimulatedRegion;
  readonly witness: Witness;
  readonly agents: SimulatedAgent[] = [];
  readonly counts: Counts = noCounts();
  /** VMs whose clone was killed: their lock stays. */
  readonly deadClones = new Set<number>();
  /** VM numbers whose VM was changed or moved manually. */
  readonly edited = new Set<number>();
  permanentFaults = 0;
  hasFaults = true;
  isApiAway = false;
  readonly #seed: number;
  readonly #trace: ((line: string) => void) | null;
  readonly #violations: string[] = [];
  #hash = 0x811c9dc5;
  #started = 0;
  #recoveredAt: number | null = null;

  constructor(seed: number, trace: ((line: string) => void) | null = null) {
    this.#seed = seed;
    this.#trace = trace;
    this.dice = new Dice(seed);
    this.plan = drawFaults(this.dice.fork());
    this.settings = {
      leaseSeconds: LEASE_SECONDS,
      removalBufferSeconds: this.plan.removalBufferSeconds,
      vmidRange: { first: 20_000, last: 20_099 },
      addresses: 50,
      publicIps: 2,
      firewalls: 2,
    };
    const chance = this.dice.fork();
    this.model = new ControlPlaneModel(this.settings, () => this.clock.now(), chance.random);
    this.api = new SimulatedApi(this, this.model);
    this.witness = new Witness(this);
    this.region = new SimulatedRegion(this.clock, this.dice.fork(), this.plan.hypervisorPace, (_, effect) =>
      this.witness.effect(effect),
    );
  }

  async run(): Promise<SeedResult> {
    if (this.#trace !== null) this.#trace(`plan ${JSON.stringify(this.plan)}`);
    for (let count = 0; count < this.plan.agents; count++) this.#startAgent();
    startFaults(this);
    const wishes = startRequests(this);
    const filters = startFirewallRequests(this, new Dice(this.#seed ^ FIREWALL_DICE));
    const faultsEnd = START + this.plan.faultSeconds * 1000;
    await this.clock.runUntil(() => this.clock.now() >= faultsEnd, faultsEnd);
    this.#endFaults();
    const lastBuffer = Math.max(0, ...this.model.state.servers.map(({ purgeAt }) => purgeAt ?? 0));
    const limit = Math.max(faultsEnd, lastBuffer) + LIVENESS_SECONDS * 1000;
    let looked = -1;
    const isQuiet = () => {
      // Checked only after a report: this runs before every event.
      const news = this.counts.reports + this.counts.claims + wishes.done() + filters.done();
      if (news === looked) return false;
      looked = news;
      return this.#isDone();
    };
    await this.clock.runUntil(isQuiet, limit);
    const recoverySeconds = Math.max(0, (this.#recoveredAt ?? this.clock.now()) - faultsEnd) / 1000;
    // Copies and late requests still arrive, and no agent may make anything of them.
    const settled = this.clock.now() + 70_000;
    await this.clock.runUntil(() => false, settled);
    this.counts.jobs = this.model.state.jobs.length;
    checkEnd(this);
    return {
      seed: this.#seed,
      violations: this.#violations,
      counts: this.counts,
      recoverySeconds,
      hash: this.#hash >>> 0,
    };
  }

  violation(text: string): void {
    this.mark("VIOLATION", text);
    if (this.#violations.length < 10) this.#violations.push(text);
  }

  /** Something happened: it goes into the hash that two runs of a seed must share, and into the trace. */
  mark(what: string, about: string): void {
    let hash = this.#hash ^ Math.floor(this.clock.now() * 1000 - START * 1000);
    for (let index = 0; index < what.length; index++)
      hash = Math.imul(hash ^ what.charCodeAt(index), 0x01000193);
    for (let index = 0; index < about.length; index++)
      hash = Math.imul(hash ^ about.charCodeAt(index), 0x01000193);
    this.#hash = hash;
    if (this.#trace !== null)
      this.#trace(`${((this.clock.now() - START) / 1000).toFixed(3).padStart(10)} ${what} ${about}`);
  }

  /** For the trace only. */
  note(text: () => string): void {
    if (this.#trace !== null)
      this.#trace(`${((this.clock.now() - START) / 1000).toFixed(3).padStart(10)} (${text()})`);
  }

  agentLog(name: string): object {
    const trace = this.#trace;
    const write = (level: string) => (first: unknown, second?: unknown) => {
      if (trace !== null)
        trace(`           ${name} ${level}: ${second ?? first} ${JSON.stringify(first).slice(0, 300)}`);
    };
    const log = {
      child: () => log,
      debug: () => {},
      info: write("info"),
      warn: write("warn"),
      error: write("error"),
    };
    return log;
  }

  /** One of the agents has ended; its operator starts another. */
  agentEnded(agent: SimulatedAgent): void {
    this.agents.splice(this.agents.indexOf(agent), 1);
    this.clock.after(this.dice.between(...RESTART_MILLISECONDS), () => this.#startAgent());
  }

  /** The worker's own tasks run within a minute of when they are due. */
  startWorker(dice: Dice): void {
    const work = () => {
      const running = this.model.state.jobs.filter((job) => job.status === "running");
      this.model.expireLeases();
      for (const job of running) if (job.status !== "running") this.witness.leaseEnded(job.id);
      for (const server of this.model.state.servers) this.model.expireBuffer(server.id);
      this.clock.after(60_000, work);
    };
    this.clock.after(dice.between(0, 60_000), work);
  }

  #startAgent(): void {
    this.#started += 1;
    const agent = new SimulatedAgent(this, `agent${this.#started}`);
    this.agents.push(agent);
    this.mark("starts", agent.name);
    agent.start();
  }

  #endFaults(): void {
    this.mark("trouble", "ends");
    this.hasFaults = false;
    this.isApiAway = false;
    this.region.world.regainQuorum();
    this.region.region.taskFaults.clear();
    this.region.killStuckTasks();
  }

  #isDone(): boolean {
    const { jobs, servers } = this.model.state;
    if (jobs.some((job) => !isDone(job.status))) return false;
    this.#recoveredAt ??= this.clock.now();
    for (const { status } of servers) if (status === "pending_deletion") return false;
    return true;
  }
}
