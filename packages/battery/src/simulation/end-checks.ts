// What must hold when the trouble is over and nothing is left to do.

import { parseMarker } from "@kule/proxmox/marker";
import { isDone } from "@kule/rules/jobs/actions";
import { hasAttemptsLeft } from "@kule/rules/jobs/retry";
import type { ModelServer } from "./model-state.ts";
import type { Simulation } from "./simulation.ts";

/** Job errors that a permanent fault of the hypervisor may lead to, if there was one. */
const PERMANENT_CODES = new Set([
  "hypervisor_refused",
  "region_capacity",
  "not_converged",
  "vm_not_ours",
  "volumes_left",
]);

/** A job that was called off is not given another VM number; it ends with what was wrong with its own. */
const VMID_CODES = new Set(["vmid_taken", "vmid_quarantined"]);

export function checkEnd(simulation: Simulation): void {
  checkJobs(simulation);
  for (const server of simulation.model.state.servers.values()) checkServer(simulation, server);
  checkAllocations(simulation);
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
    if (!hasAttemptsLeft(job.attempt, job.maxAttempts)) {
      simulation.counts.exhausted += 1;
      continue;
    }
    simulation.counts.permanentFailures += 1;
    // Somebody else's VM under the server's number is for operators.
    if (job.cancelRequested && VMID_CODES.has(job.errorCode ?? "")) continue;
    if (job.errorCode === "vm_not_ours" && hasStranger(simulation, job.serverId)) continue;
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

function hasStranger({ model, witness }: Simulation, serverId: string): boolean {
  return [...model.state.vmids].some(
    ([vmid, allocation]) => allocation.serverId === serverId && witness.strangers.has(vmid),
  );
}

function checkServer(simulation: Simulation, server: ModelServer): void {
  const { model, region, witness } = simulation;
  const note = (text: string) => simulation.violation(`${text}: ${server.id} (${server.status})`);
  const { running, queued } = model.state.openJobs(server.id);
  const hasFailed = (kind: string) =>
    model.state.jobs.some(
      (job) => job.serverId === server.id && job.kind === kind && job.status === "failed",
    );
  if (running === null && queued === null) {
    if (["creating", "starting", "stopping"].includes(server.status))
      note("I5: a server on its way has no job that takes it there");
    if (server.status === "deleting" && !hasFailed("ServerDestroy"))
      note("I5: a server is being destroyed by no job");
  }
  const vmid = model.state.vmidOf(server.id);
  if (server.status === "deleted") {
    if (vmid !== null || model.state.addressOf(server.id) !== null)
      note("I4: something is still given out to a server that is gone");
    return;
  }
  if (vmid === null || model.state.addressOf(server.id) === null)
    note("I4: a live server lacks its VM number or its address");
  if (vmid === null) return;
  if (server.status !== "running" && server.status !== "stopped") return;
  const vm = region.vm(vmid);
  if (vm === undefined || parseMarker(vm.config.description)?.serverId !== server.id) {
    note("I3: a server that is there has no VM");
    return;
  }
  const payload = model.state.jobs.find((job) => job.serverId === server.id && job.kind === "ServerCreate");
  if (payload !== undefined) {
    const wanted = model.state.payloadOf(payload);
    const nic = wanted.kind === "ServerCreate" ? wanted.interfaces[0] : undefined;
    if (nic !== undefined) {
      if (!vm.config.net0?.toLowerCase().includes(nic.mac)) note("I3: the VM has another MAC");
      if (!vm.config.ipconfig0?.includes(`ip=${nic.address}/`)) note("I3: the VM has another address");
    }
  }
  const drift: string[] = [];
  if (vm.config.tags?.includes("kule-removing")) drift.push("I3: a kept server's VM is marked for removal");
  const isOn = vm.process !== null;
  if (isOn !== (server.status === "running")) drift.push(`I3: the VM is ${isOn ? "on" : "off"}`);
  if (drift.length === 0) return;
  // A request that arrives when its sender has given it up may undo what was done since: no lease can stop it, and the
  // hypervisor knows none. It is counted, and only power and the removal's mark may be touched by it.
  if (witness.lateChanges.has(vmid)) simulation.counts.lateDrift += 1;
  else for (const text of drift) note(text);
}

function checkAllocations(simulation: Simulation): void {
  const { state } = simulation.model;
  const owners = new Map<string, number>();
  for (const [vmid, { state: as, serverId }] of state.vmids) {
    if (as !== "used") continue;
    owners.set(serverId, (owners.get(serverId) ?? 0) + 1);
    const status = state.servers.get(serverId)?.status ?? "deleted";
    if (status === "deleted") simulation.violation(`I4: VM number ${vmid} belongs to nobody`);
  }
  for (const [serverId, count] of owners)
    if (count > 1) simulation.violation(`I4: ${serverId} has ${count} VM numbers`);
}

function checkVms(simulation: Simulation): void {
  const { model, region, witness } = simulation;
  const vmsOf = new Map<string, number>();
  for (const vm of region.vms()) {
    const marker = parseMarker(vm.config.description);
    const allocation = model.state.vmids.get(vm.vmid);
    if (marker === null || witness.strangers.has(vm.vmid) || allocation?.state === "quarantined") continue;
    vmsOf.set(marker.serverId, (vmsOf.get(marker.serverId) ?? 0) + 1);
    const server = model.state.servers.get(marker.serverId);
    if (server === undefined || server.status === "deleted")
      simulation.violation(`I2: VM ${vm.vmid} of ${marker.serverId} has no server`);
    else if (allocation?.serverId !== marker.serverId)
      simulation.violation(`I2: VM ${vm.vmid} of ${marker.serverId} is not under its server's number`);
  }
  for (const [serverId, count] of vmsOf)
    if (count > 1) simulation.violation(`I1: ${serverId} has ${count} VMs`);
  for (const [vmid, { state, serverId }] of model.state.vmids) {
    if (state !== "tombstone" || region.vm(vmid) !== undefined) continue;
    const left = region.volumesOf(vmid);
    if (left.length > 0) simulation.violation(`I4: ${serverId} is gone and left ${left.join(", ")}`);
  }
}

const TURNS = [
  ["server.started", "server.stopped"],
  ["disk.allocated", "disk.released"],
] as const;

function checkUsage(simulation: Simulation): void {
  const { usage, servers } = simulation.model.state;
  for (const server of servers.values())
    for (const [opens, closes] of TURNS) {
      let isOpen = false;
      for (const { kind, serverId } of usage) {
        if (serverId !== server.id || (kind !== opens && kind !== closes)) continue;
        if ((kind === opens) === isOpen) simulation.violation(`I9: ${server.id} has ${kind} out of turn`);
        isOpen = kind === opens;
      }
      if (isOpen && server.status === "deleted")
        simulation.violation(`I9: ${server.id} is gone and ${opens} is not closed`);
      if (opens === "server.started" && server.status === "running" && !isOpen)
        simulation.violation(`I9: ${server.id} runs and is not counted`);
    }
}
