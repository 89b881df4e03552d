// What must hold when faults have ended and nothing is left to do.

import { parseMarker } from "@kule/proxmox/marker";
import { hasOpenJob, isDone } from "../reference-model/model-state.ts";
import type { ModelJob, ModelServer } from "../reference-model/types.ts";
import { checkFilter } from "./filter-checks.ts";
import { checkMachine, checkMadeByHand, checkPublicIps, wasTakenOver } from "./machine-checks.ts";
import type { Simulation } from "./simulation.ts";

/** Job errors that a permanent fault of the hypervisor may lead to, if there was one. */
const PERMANENT_CODES = new Set([
  "hypervisor_refused",
  "region_capacity",
  "not_converged",
  "vm_not_ours",
  "volumes_left",
]);

/** Errors of a VM that a rebuild has left incomplete. */
const BROKEN_OFF_CODES = new Set(["vm_missing", "vm_incomplete"]);

/** Errors of a job that needs a running guest, and finds it off. */
const OFF_CODES = new Set(["guest_stopped", "guest_agent_unavailable"]);

/** A job that was called off is not given another VM number; it ends with what was wrong with its own. */
const VMID_CODES = new Set(["vmid_taken", "vmid_quarantined"]);

/** A job starts and ends such a transition. */
const ON_ITS_WAY = new Set<string>([
  "creating",
  "starting",
  "stopping",
  "rebooting",
  "resizing",
  "rebuilding",
]);

export function checkEnd(simulation: Simulation): void {
  checkJobs(simulation);
  for (const server of simulation.model.state.servers) checkServer(simulation, server);
  checkAllocations(simulation);
  checkPublicIps(simulation);
  checkMadeByHand(simulation);
  checkVms(simulation);
  checkUsage(simulation);
}

function checkJobs(simulation: Simulation): void {
  const { model, witness } = simulation;
  let permanent = simulation.permanentFaults;
  for (const job of model.state.jobs) {
    if (!isDone(job.status)) {
      simulation.violation(
        `liveness: ${job.kind} ${job.id} is still ${job.status} (attempt ${job.attempt}, ${job.errorCode})`,
      );
      continue;
    }
    if (job.ends < 1) simulation.violation(`I9: nothing says that ${job.id} has ended`);
    if (job.status !== "failed") continue;
    if (job.attempt >= model.state.settings.maxAttempts) {
      simulation.counts.exhausted += 1;
      continue;
    }
    simulation.counts.permanentFailures += 1;
    // A foreign VM with the server's number is an operator's task.
    if (job.cancelRequested && VMID_CODES.has(job.errorCode ?? "")) continue;
    if (job.errorCode === "vm_not_ours" && hasStranger(simulation, job)) continue;
    // A VM that was created manually has no guest agent of ours in it.
    if (job.errorCode === "guest_agent_unavailable" && isMadeByHand(simulation, job)) continue;
    // A late request has switched it off, as further down.
    if (OFF_CODES.has(job.errorCode ?? "") && witness.foundOff.has(job.id)) continue;
    // A VM that is moved or changed manually while the job verifies it may never be observed as wanted.
    if (job.errorCode === "not_converged" && wasEdited(simulation, job)) continue;
    if (job.errorCode !== null && BROKEN_OFF_CODES.has(job.errorCode) && wasBrokenOff(job)) continue;
    const isAllowed = PERMANENT_CODES.has(job.errorCode ?? "") && permanent > 0;
    if (isAllowed) permanent -= 1;
    else
      simulation.violation(
        `${job.kind} ${job.id} failed with ${job.errorCode} although nothing in the region was broken for good`,
      );
  }
  for (const [vmid, allocation] of model.state.vmids)
    if (
      allocation.state === "quarantined" &&
      !witness.strangers.has(vmid) &&
      !simulation.deadClones.has(vmid)
    )
      simulation.violation(`VM number ${vmid} was given up although nothing was wrong with it`);
}

function isMadeByHand({ model, witness }: Simulation, job: ModelJob): boolean {
  return [...witness.madeByHand.keys()].some((vmid) => model.state.vmids.get(vmid)?.server === job.server);
}

/** A rebuild had begun to replace its VM, and was superseded by a removal that was cancelled, or failed. */
function wasCalledOffBetween({ jobs }: ModelServer): boolean {
  const last = jobs.at(-1);
  return last?.status === "cancelled" && last.attempt > 0;
}

function wasEdited({ model, edited }: Simulation, { server }: ModelJob): boolean {
  return [...model.state.vmids].some(
    ([vmid, allocation]) => allocation.server === server && edited.has(vmid),
  );
}

function wasBrokenOff({ server, kind }: ModelJob): boolean {
  if (kind === "ServerRebuild") return false;
  return server.jobs.some((job) => job.kind === "ServerRebuild" && job.status !== "succeeded");
}

function hasStranger({ model, witness }: Simulation, { server }: ModelJob): boolean {
  return [...model.state.vmids].some(
    ([vmid, allocation]) => allocation.server === server && witness.strangers.has(vmid),
  );
}

function checkServer(simulation: Simulation, server: ModelServer): void {
  const { model, region, witness } = simulation;
  const note = (text: string) => simulation.violation(`${text}: ${server.id} (${server.status})`);
  const hasFailed = (kind: string) => server.jobs.some((job) => job.kind === kind && job.status === "failed");
  if (!hasOpenJob(server)) {
    if (ON_ITS_WAY.has(server.status)) note("I5: a server on its way has no job that takes it there");
    if (server.status === "deleting" && !hasFailed("ServerDestroy"))
      note("I5: a server is being destroyed by no job");
  }
  const vmid = model.state.vmidOf(server);
  if (server.status === "deleted") {
    if (vmid !== null || server.host !== null)
      note("I4: something is still given out to a server that is gone");
    return;
  }
  if (vmid === null || server.host === null) note("I4: a live server lacks its VM number or its address");
  if (vmid === null) return;
  if (server.status !== "running" && server.status !== "stopped") return;
  const vm = region.vm(vmid);
  if (vm === undefined || parseMarker(vm.config.description)?.serverId !== server.id) {
    note("I3: a server that is there has no VM");
    return;
  }
  checkMachine(simulation, server, vm, note);
  checkFilter(simulation, server, vm, note);
  const isOn = vm.process !== null;
  // A request that arrives after its sender has given it up, or twice, may undo what was done since: no lease
  // can stop it, and the hypervisor does not know about leases. It is counted; a copy may only change power,
  // and a request that was delayed all that time only the removal's mark. The same holds for the power of a
  // server whose job was cancelled between two attempts: the effect of the first one is seen by the next scan
  // of the region, and there is none here.
  const isExcused = witness.latePower.has(vmid) || wasCalledOffBetween(server);
  if (isOn !== (server.status === "running")) {
    if (isExcused) simulation.counts.lateDrift += 1;
    else note(`I3: the VM is ${isOn ? "on" : "off"}`);
  }
  if (vm.config.tags?.includes("kule-removing")) {
    if (witness.lateConfigs.has(vmid)) simulation.counts.lateDrift += 1;
    else note("I3: a kept server's VM is marked for removal");
  }
}

function checkAllocations(simulation: Simulation): void {
  const { state } = simulation.model;
  const owners = new Map<ModelServer, number>();
  for (const [vmid, { state: as, server }] of state.vmids) {
    if (as !== "used") continue;
    owners.set(server, (owners.get(server) ?? 0) + 1);
    if (server.status === "deleted") simulation.violation(`I4: VM number ${vmid} belongs to nobody`);
  }
  for (const [{ id }, count] of owners)
    if (count > 1) simulation.violation(`I4: ${id} has ${count} VM numbers`);
}

function checkVms(simulation: Simulation): void {
  const { model, region, witness } = simulation;
  const vmsOf = new Map<string, number>();
  for (const vm of region.vms()) {
    const marker = parseMarker(vm.config.description);
    const allocation = model.state.vmids.get(vm.vmid);
    if (marker === null || witness.strangers.has(vm.vmid) || allocation?.state === "quarantined") continue;
    vmsOf.set(marker.serverId, (vmsOf.get(marker.serverId) ?? 0) + 1);
    const server = model.state.server(marker.serverId);
    // Marked, and cancelled before that was reported: it is its owner's, marks included.
    if (witness.madeByHand.has(vm.vmid) && !wasTakenOver(server)) continue;
    // No lease can stop such a request. The number is in quarantine, and the VM is reported to operators as
    // extra.
    if (server?.status === "deleted" && witness.lateClones.has(vm.vmid)) continue;
    if (server === undefined || server.status === "deleted")
      simulation.violation(`I2: VM ${vm.vmid} of ${marker.serverId} has no server`);
    else if (allocation?.server !== server)
      simulation.violation(`I2: VM ${vm.vmid} of ${marker.serverId} is not under its server's number`);
  }
  for (const [serverId, count] of vmsOf)
    if (count > 1) simulation.violation(`I1: ${serverId} has ${count} VMs`);
  for (const [vmid, { state, server }] of model.state.vmids) {
    if (state !== "tombstone" || region.vm(vmid) !== undefined) continue;
    const left = region.volumesOf(vmid);
    if (left.length > 0) simulation.violation(`I4: ${server.id} is gone and left ${left.join(", ")}`);
  }
}

const TURNS = [
  ["server.started", "server.stopped"],
  ["disk.allocated", "disk.released"],
] as const;

function checkUsage(simulation: Simulation): void {
  const { usage, servers } = simulation.model.state;
  for (const server of servers)
    for (const [opens, closes] of TURNS) {
      let isOpen = false;
      for (const { kind, server: its } of usage) {
        if (its !== server || (kind !== opens && kind !== closes)) continue;
        if ((kind === opens) === isOpen) simulation.violation(`I9: ${server.id} has ${kind} out of turn`);
        isOpen = kind === opens;
      }
      if (isOpen && server.status === "deleted")
        simulation.violation(`I9: ${server.id} is gone and ${opens} is not closed`);
      // As above: a late request may have switched it off, and the next job has observed that.
      const vmid = simulation.model.state.vmidOf(server);
      if (vmid !== null && simulation.witness.latePower.has(vmid)) continue;
      if (opens === "server.started" && server.status === "running" && !isOpen)
        simulation.violation(`I9: ${server.id} runs and is not counted`);
    }
}
