// Watches what nobody may do, from outside of the model and the agents: it keeps books of its own.

import type { Schemas } from "@kule/contract/schemas";
import type { Effect } from "@kule/lab/journal";
import { parseMarker } from "@kule/proxmox/marker";
import type { SeenRun, SimulatedAgent } from "./simulated-agent.ts";
import type { Simulation } from "./simulation.ts";

type Held = { readonly epoch: number; readonly claimId: string; until: number; seq: number };

/** No effect is begun with less than a third of the lease left. */
const LEASE_SHARE_FOR_EFFECTS = 1 / 3;

export class Witness {
  readonly #simulation: Simulation;
  /** The newest lease of each job. */
  readonly #held = new Map<string, Held>();
  /** Every lease there was, by job and epoch. */
  readonly #leases = new Map<string, Held>();
  /** VMs that others have put under a number of ours. */
  readonly strangers = new Set<number>();
  /** VMs whose power somebody without a lease, or with a copy of a request, may have changed. */
  readonly lateChanges = new Set<number>();
  readonly #clones = new Map<string, number>();
  readonly destroyed = new Map<number, number>();

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  jobClaimed(agent: string, claimId: string, job: Schemas["ClaimedJob"]["job"]): void {
    const { clock } = this.#simulation;
    const note = (text: string) =>
      this.#simulation.violation(`${text}: ${job.id}, epoch ${job.epoch}, ${agent}`);
    const before = this.#held.get(job.id);
    const until = clock.now() + job.lease_seconds * 1000;
    if (before !== undefined && job.epoch < before.epoch) note("I7: an epoch was handed out again");
    else if (before !== undefined && job.epoch === before.epoch) {
      if (before.claimId !== claimId) note("I7: one epoch has two holders");
      return;
    } else if (before !== undefined && before.until > clock.now())
      note("I7: a job was claimed while its lease lasted");
    const held = { epoch: job.epoch, claimId, until, seq: 0 };
    this.#held.set(job.id, held);
    this.#leases.set(`${job.id}/${job.epoch}`, held);
  }

  reportAccepted(agent: string, jobId: string, report: Schemas["StepReport"]): void {
    const { clock, settings } = this.#simulation;
    const held = this.#held.get(jobId);
    if (held === undefined || report.epoch !== held.epoch) {
      this.#simulation.violation(
        `I7: a report of a former holder was accepted: ${jobId}, epoch ${report.epoch} of ${held?.epoch}, ${agent}`,
      );
      return;
    }
    // Said again because its answer was lost: nothing was changed by it, the lease included.
    if (report.seq <= held.seq) return;
    held.seq = report.seq;
    held.until = report.outcome === undefined ? clock.now() + settings.leaseSeconds * 1000 : 0;
    if (report.outcome?.error?.code === "internal")
      this.#simulation.violation(
        `a program broke: ${jobId}: ${report.outcome.error.internal?.slice(0, 600) ?? ""}`,
      );
  }

  /** The job went back or ended without its holder's word. */
  leaseEnded(jobId: string): void {
    const held = this.#held.get(jobId);
    if (held !== undefined) held.until = 0;
  }

  /** An agent is about to send a changing call. */
  aboutToChange(agent: SimulatedAgent, vmid: number, method: string, path: string): SeenRun | null {
    const { clock, settings } = this.#simulation;
    const note = (text: string) =>
      this.#simulation.violation(`${text}: ${agent.name}, VM ${vmid}, ${method} ${path}`);
    const run = agent.runs.get(vmid);
    if (run === undefined) {
      note("a VM was changed that no job of the agent is about");
      return null;
    }
    // Refused before anything was sent: the same call goes to another endpoint, and was looked at before the first.
    if (agent.refused.delete(vmid)) return run;
    if (run.isTold) note("an effect was begun although the job was known to be somebody else's");
    const left = (this.#leases.get(`${run.jobId}/${run.epoch}`)?.until ?? 0) - clock.now();
    const enough = settings.leaseSeconds * 1000 * LEASE_SHARE_FOR_EFFECTS;
    // It may have been asleep between its look at the lease and this: nothing can be done about that.
    if (left < enough && agent.wokeAt !== clock.now())
      note(
        left <= 0
          ? "an effect was begun although the lease was over"
          : `an effect was begun with ${Math.round(left / 1000)} s of the lease left`,
      );
    if (agent.unanswered.has(vmid)) note("a call followed one whose answer was lost, without a look between");
    agent.unanswered.delete(vmid);
    return run;
  }

  /** @param run of the job that has sent it */
  changeArrives({ vmid, ...run }: SeenRun): void {
    const held = this.#held.get(run.jobId);
    if (held !== undefined && held.epoch === run.epoch && held.until > this.#simulation.clock.now()) return;
    this.#simulation.counts.lateChanges += 1;
    this.lateChanges.add(vmid);
  }

  /** Something was really done in the region. */
  effect(effect: Effect): void {
    const { op, vmid } = effect;
    // A clone that dies leaves its lock, and its number has to be given up.
    if (op === "task-killed" && effect.detail?.type === "qmclone")
      for (const vm of this.#simulation.region.vms())
        if (vm.temporary || vm.config.lock === "clone") this.#simulation.deadClones.add(vm.vmid);
    if (vmid === undefined || op.startsWith("task-") || op.startsWith("world-")) return;
    this.#simulation.mark("effect", `${op} ${vmid}`);
    if (op === "clone-started") this.#cloneStarted(vmid);
    else if (op === "clone-finished") this.#cloneFinished(effect);
    else if (this.strangers.has(vmid) && op !== "clone-rolled-back")
      this.#simulation.violation(`I2: a stranger's VM was changed: ${op}, VM ${vmid}`);
    if (op === "vm-destroyed") this.#destroyed(effect);
  }

  #cloneStarted(vmid: number): void {
    const { model } = this.#simulation;
    const allocation = model.state.vmids.get(vmid);
    if (allocation === undefined) {
      this.#simulation.violation(`I2: a VM was made under a number nobody was given: ${vmid}`);
      return;
    }
    const { serverId } = allocation;
    const twins = this.#simulation.region.vms().filter((vm) => {
      const owner = parseMarker(vm.config.description)?.serverId;
      const isQuarantined = model.state.vmids.get(vm.vmid)?.state === "quarantined";
      return vm.vmid !== vmid && owner === serverId && !isQuarantined;
    });
    if (twins.length > 0)
      this.#simulation.violation(`I1: a second VM was begun for ${serverId}: ${twins[0]?.vmid} and ${vmid}`);
  }

  #cloneFinished({ vmid = 0, detail }: Effect): void {
    const marker = parseMarker(String(detail?.description ?? ""));
    const key = `${marker?.serverId} ${vmid}`;
    const count = (this.#clones.get(key) ?? 0) + 1;
    this.#clones.set(key, count);
    if (count > 1) this.#simulation.violation(`I8: VM ${vmid} was cloned ${count} times for one server`);
  }

  #destroyed({ vmid = 0, detail }: Effect): void {
    const { model, clock } = this.#simulation;
    const marker = parseMarker(String(detail?.description ?? ""));
    const server = marker === null ? undefined : model.state.servers.get(marker.serverId);
    const count = (this.destroyed.get(vmid) ?? 0) + 1;
    this.destroyed.set(vmid, count);
    if (count > 1) this.#simulation.violation(`I8: VM ${vmid} was destroyed twice`);
    if (server === undefined) this.#simulation.violation(`I2: a VM that is not ours was destroyed: ${vmid}`);
    else if (
      (server.status !== "deleting" && server.status !== "deleted") ||
      server.purgeAt === null ||
      server.purgeAt > clock.now()
    )
      this.#simulation.violation(`I13: VM ${vmid} was destroyed while its server is ${server.status}`);
  }
}
