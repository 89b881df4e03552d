// Watches for what must not happen, independently of the model and the agents: it has records of its own.

import type { Schemas } from "@kule/contract/schemas";
import type { Effect } from "@kule/lab/journal";
import { configDigest } from "@kule/lab/vm/config-file";
import { parseMarker } from "@kule/proxmox/marker";
import { hasOpenJob, isDone } from "../reference-model/model-state.ts";
import { wasTakenOver } from "./machine-checks.ts";
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
  /** Foreign VMs with a number of ours. */
  readonly strangers = new Set<number>();
  /**
   * VMs whose power an abandoned request, or a copy of one, may have changed since a job last observed and
   * reported it: the hypervisor cannot distinguish it from a wanted one.
   */
  readonly latePower = new Map<number, number>();
  /**
   * VMs whose config such a request may have changed. Not a copy of one that has arrived and was carried out: what that
   * one has written is in the digest, and its copy is refused.
   */
  readonly lateConfigs = new Set<number>();
  /** VMs to which such a request for power has come whose effect has not been seen: a guest takes seconds to shut down. */
  readonly #comingPower = new Set<number>();
  /** Jobs that found a guest off that such a request may have switched off. */
  readonly foundOff = new Set<string>();
  /**
   * VMs whose clone began when its job had ended: by a request, or a copy of one, that was in transit that
   * long.
   */
  readonly lateClones = new Set<number>();
  /** VMs that were there before their servers, with what of their configs must stay. */
  readonly madeByHand = new Map<number, { readonly net0: string; readonly scsi0: string }>();
  /** Which jobs had ended when the VM's last clone began. */
  readonly #overAtStart = new Map<number, ReadonlySet<string>>();
  readonly #clones = new Map<string, number>();
  readonly #destroyed = new Map<string, number>();
  /**
   * VMs that were reached by a request to destroy them whose sender no longer waited for its answer, or knew
   * of none.
   */
  readonly #copies = new Set<number>();
  readonly #lateDestroys = new Map<number, number>();
  /** VMs that were complete when their destruction began. */
  readonly #wholeAtStart = new Set<number>();
  /** The digests of each VM's configs since it was created. */
  readonly #digests = new Map<number, string[]>();
  /** When a job, under one of its leases, has last seen its VM's power. */
  readonly #looked = new Map<string, number>();

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
    // Repeated because its answer was lost: it changed nothing, the lease included.
    if (report.seq <= held.seq) return;
    held.seq = report.seq;
    if (report.outcome !== undefined) this.#powerIsKnown(jobId, report);
    held.until = report.outcome === undefined ? clock.now() + settings.leaseSeconds * 1000 : 0;
    if (report.outcome?.error?.code === "internal")
      this.#simulation.violation(
        `a program broke: ${jobId}: ${report.outcome.error.internal?.slice(0, 600) ?? ""}`,
      );
  }

  /** A job has ended, and has reported what it observed last. */
  #powerIsKnown(jobId: string, { epoch, outcome }: Schemas["StepReport"]): void {
    const { state } = this.#simulation.model;
    const server = state.job(jobId)?.server;
    const vmid = server === undefined ? null : state.vmidOf(server);
    if (vmid === null) return;
    const lateAt = this.latePower.get(vmid);
    if (lateAt === undefined) return;
    const { code, step } = outcome?.error ?? {};
    // The plan refuses to ask a guest that is off; one that runs is asked in a step of its own.
    const isOff = code === "guest_stopped" || (code === "guest_agent_unavailable" && step === "observe");
    if (isOff) this.foundOff.add(jobId);
    const hasSaid = outcome?.observed?.power_state === "on" || outcome?.observed?.power_state === "off";
    if (hasSaid && lateAt < (this.#looked.get(`${jobId}/${epoch}`) ?? 0)) this.latePower.delete(vmid);
  }

  /** An agent observes the power of a VM. */
  looks({ jobId, epoch }: SeenRun): void {
    this.#looked.set(`${jobId}/${epoch}`, this.#simulation.clock.now());
  }

  /** The job was released or ended without its holder's report. */
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
    // Refused before anything was sent: the same call goes to another endpoint, and was checked before the
    // first.
    if (agent.refused.delete(vmid)) return run;
    if (run.isTold) note("an effect was begun although the job was known to be somebody else's");
    const left = (this.#leases.get(`${run.jobId}/${run.epoch}`)?.until ?? 0) - clock.now();
    const enough = settings.leaseSeconds * 1000 * LEASE_SHARE_FOR_EFFECTS;
    // It may have been suspended between its check of the lease and this: that cannot be prevented.
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

  /**
   * @param run of the job that has sent it
   * @param arrival the first one, or of a copy; awaited while its sender still waits for the answer; with the digest of
   *   the config that it is for, if it names one
   */
  changeArrives(
    { vmid, ...run }: SeenRun,
    path: string,
    arrival: { readonly isCopy: boolean; readonly isAwaited: boolean; readonly digest: string | null },
  ): void {
    const now = this.#simulation.clock.now();
    const held = this.#held.get(run.jobId);
    const isHeld = held !== undefined && held.epoch === run.epoch && held.until > now;
    if (isHeld && arrival.isAwaited) return;
    this.#simulation.counts.lateChanges += 1;
    if (/\/status\/\w+$/.test(path)) {
      this.latePower.set(vmid, now);
      this.#comingPower.add(vmid);
    } else if (!arrival.isCopy || this.#isOfPresentConfig(vmid, arrival.digest)) this.lateConfigs.add(vmid);
  }

  /** The config is still the one that a request is for: the task of its first arrival has failed. */
  #isOfPresentConfig(vmid: number, digest: string | null): boolean {
    const vm = this.#simulation.region.vm(vmid);
    return vm !== undefined && digest === configDigest(vm);
  }

  /** A request to destroy a VM arrives when its sender no longer waits for the result. */
  destroyArrivesLate(vmid: number): void {
    this.#copies.add(vmid);
  }

  /** Something was really done in the region. */
  effect(effect: Effect): void {
    const { op, vmid } = effect;
    // An interrupted clone leaves its lock, and its number must be given up.
    if (op === "task-killed" && effect.detail?.type === "qmclone")
      for (const vm of this.#simulation.region.vms())
        if (vm.temporary || vm.config.lock === "clone") this.#simulation.deadClones.add(vm.vmid);
    if (vmid === undefined || op.startsWith("task-") || op.startsWith("world-")) return;
    this.#simulation.mark("effect", `${op} ${vmid}`);
    // A job may have seen the guest run in the meantime: what it saw is not true any more.
    const isPower = op === "vm-stopped" || op === "vm-started";
    if (isPower && this.#comingPower.delete(vmid)) this.latePower.set(vmid, this.#simulation.clock.now());
    if (op === "config-changed") this.#configChanged(vmid);
    if (op === "destroy-started") this.#destroyStarted(vmid);
    if (op === "clone-started") this.#cloneStarted(vmid);
    else if (op === "clone-finished") this.#cloneFinished(effect);
    else if (this.strangers.has(vmid) && op !== "clone-rolled-back")
      this.#simulation.violation(`I2: a stranger's VM was changed: ${op}, VM ${vmid}`);
    if (op === "vm-destroyed") this.#vmDestroyed(effect);
  }

  #cloneStarted(vmid: number): void {
    this.#digests.delete(vmid);
    const { model } = this.#simulation;
    const allocation = model.state.vmids.get(vmid);
    if (allocation === undefined) {
      this.#simulation.violation(`I2: a VM was made under a number nobody was given: ${vmid}`);
      return;
    }
    const over = model.state.jobs.filter(({ status }) => isDone(status)).map(({ id }) => id);
    this.#overAtStart.set(vmid, new Set(over));
    const { server } = allocation;
    if (!hasOpenJob(server)) this.#cloneIsLate(vmid);
    const twins = this.#simulation.region.vms().filter((vm) => {
      const owner = parseMarker(vm.config.description)?.serverId;
      const isQuarantined = model.state.vmids.get(vm.vmid)?.state === "quarantined";
      return vm.vmid !== vmid && owner === server.id && !isQuarantined;
    });
    if (twins.length > 0)
      this.#simulation.violation(`I1: a second VM was begun for ${server.id}: ${twins[0]?.vmid} and ${vmid}`);
  }

  #cloneFinished({ vmid = 0, detail }: Effect): void {
    const marker = parseMarker(String(detail?.description ?? ""));
    if (this.#overAtStart.get(vmid)?.has(marker?.jobId ?? "") === true) {
      this.#cloneIsLate(vmid);
      return;
    }
    // A server is created once, and once again by each rebuild.
    const key = `${marker?.serverId} ${vmid} ${marker?.jobId}`;
    const count = (this.#clones.get(key) ?? 0) + 1;
    this.#clones.set(key, count);
    if (count > 1 + (this.#lateDestroys.get(vmid) ?? 0))
      this.#simulation.violation(`I8: VM ${vmid} was cloned ${count} times for one job`);
  }

  #cloneIsLate(vmid: number): void {
    if (!this.lateClones.has(vmid)) this.#simulation.counts.lateClones += 1;
    this.lateClones.add(vmid);
  }

  /** When a digest occurs again, requests for the config as it was before are accepted. */
  #configChanged(vmid: number): void {
    const vm = this.#simulation.region.vm(vmid);
    // A VM that was never adopted is restored to its own state.
    if (vm === undefined || this.madeByHand.has(vmid)) return;
    const digest = configDigest(vm);
    const before = this.#digests.get(vmid) ?? [];
    if (before.at(-1) === digest) return;
    if (before.includes(digest))
      this.#simulation.violation(`I8: the config of VM ${vmid} is again what it was before`);
    this.#digests.set(vmid, [...before, digest]);
  }

  #destroyStarted(vmid: number): void {
    const { config } = this.#simulation.region.vm(vmid) ?? {};
    const owner = parseMarker(config?.description)?.serverId;
    // Its tags are set with all other settings of a VM, its protection among them.
    const isWhole = owner !== undefined && config?.tags?.includes(owner.toLowerCase()) === true;
    if (isWhole) this.#wholeAtStart.add(vmid);
    else this.#wholeAtStart.delete(vmid);
  }

  #vmDestroyed({ vmid = 0, detail }: Effect): void {
    const { model, clock } = this.#simulation;
    const note = (text: string) => this.#simulation.violation(text);
    const marker = parseMarker(String(detail?.description ?? ""));
    const server = marker === null ? undefined : model.state.server(marker.serverId);
    const key = `${vmid} ${marker?.jobId}`;
    const count = (this.#destroyed.get(key) ?? 0) + 1;
    this.#destroyed.set(key, count);
    if (count > 1 && !this.lateClones.has(vmid)) note(`I8: VM ${vmid} was destroyed twice`);
    if (server === undefined || marker === null) {
      note(`I2: a VM that is not ours was destroyed: ${vmid}`);
      return;
    }
    if (this.madeByHand.has(vmid) && !wasTakenOver(server))
      note(`I2: VM ${vmid} was destroyed although it was never taken over`);
    const isOver =
      (server.status === "deleting" || server.status === "deleted") &&
      server.purgeAt !== null &&
      server.purgeAt <= clock.now();
    // A copy of the request that arrived when the VM was being recreated: no lease can stop it, the
    // hypervisor does not know about leases, and a clone cannot be protected before it exists. It was not in
    // use yet, and the job creates it again, also when the server is to be removed afterwards.
    const madeBy = model.state.job(marker.jobId);
    if (
      madeBy?.kind === "ServerRebuild" &&
      !(isOver && isDone(madeBy.status)) &&
      !this.#wholeAtStart.has(vmid) &&
      this.#copies.has(vmid)
    ) {
      this.#simulation.counts.lateDestroys += 1;
      this.#destroyed.delete(key);
      this.#lateDestroys.set(vmid, (this.#lateDestroys.get(vmid) ?? 0) + 1);
      return;
    }
    if (isOver) return;
    // A rebuild destroys what another job has created, and never its own.
    const rebuilds = server.jobs.some(
      (job) =>
        job.kind === "ServerRebuild" &&
        // A released attempt is not counted, and its destroy continues.
        (job.attempt > 0 || job.isIrreversible) &&
        !isDone(job.status) &&
        job.id !== marker.jobId,
    );
    if (!rebuilds) note(`I13: VM ${vmid} was destroyed while its server is ${server.status}`);
  }
}
