import { failure } from "../api-error.ts";
import { type Call, flag, type Handlers, number, refuseRootOnly, required } from "../call.ts";
import type { VmDocument, VmProcess } from "../documents.ts";
import { seconds } from "../durations.ts";
import { type Region, requireQuorum, runningCheck, vmOn } from "../region.ts";
import { startTask, type Worker } from "../tasks/worker.ts";
import { applyPendingCold, generateCloudInit } from "../vm/apply-pending.ts";
import { instanceIdOf } from "../vm/cloud-init.ts";
import { draftChanges, openDraft } from "../vm/config-draft.ts";
import { requireNoConfigLock, withVmLock } from "../vm/config-lock.ts";
import { agentAnswers } from "../vm/guest.ts";
import { bootGuest } from "../vm/guest-network.ts";
import { missingBridge } from "../vm/networks.ts";

const processId = (region: Region): number => 1000 + Math.floor(region.runtime.random() * 4_000_000);

/**
 * Starts a stopped VM: applies what is pending, writes the cloud-init drive, boots. The caller holds the
 * VM's lock. Throws "VM N already running" and friends.
 */
export async function startVm(region: Region, worker: Worker, node: string, vmid: number): Promise<void> {
  requireQuorum(region);
  const before = vmOn(region, node, vmid);
  if (before.config.template === "1") throw new Error("you can't start a vm if it's a template");
  requireNoConfigLock(before);
  if (before.process !== null) throw new Error(`VM ${vmid} already running`);
  const draft = openDraft(before);
  applyPendingCold(region, draft);
  generateCloudInit(draft);
  // Snippets cannot be uploaded through the API, so no storage of the lab has any.
  const snippet = draft.config.cicustom?.split(",")[0]?.split("=")[1];
  if (snippet !== undefined) throw new Error(`volume '${snippet}' does not exist`);
  if (draft.drive !== null) worker.log("generating cloud-init ISO");
  worker.commit({ op: "config-applied", vmid }, draftChanges(draft));
  const bridge = missingBridge(region, draft.config);
  if (bridge !== undefined) throw new Error(`bridge '${bridge}' does not exist`);
  await worker.stage("start");
  await worker.wait(seconds.start);
  const vm = vmOn(region, node, vmid);
  const now = region.runtime.nowMs();
  const process: VmProcess = { pid: processId(region), startedAt: now, paused: false, guestBootAt: now };
  const instance = vm.drive === null ? null : instanceIdOf(vm.drive);
  const started: VmDocument = bootGuest({ ...vm, process });
  worker.commit({ op: "vm-started", vmid, detail: { pid: process.pid, instance } }, [
    ["vm", String(vmid), started],
  ]);
  await region.realGuests?.settled(vmid);
}

function stopNow(region: Region, worker: Worker, vmid: number, how: string): void {
  const vm = region.store.get("vm", String(vmid));
  if (vm === undefined || vm.process === null) return;
  const draft = openDraft({ ...vm, process: null });
  // vm_stop_cleanup: what waited for a cold start is applied as soon as the process is gone.
  applyPendingCold(region, draft);
  worker.commit({ op: "vm-stopped", vmid, detail: { how } }, draftChanges(draft));
}

const vmidOf = (call: Call): number => Number(required(call, "vmid"));
const task = (call: Call, type: string, work: (worker: Worker) => Promise<void>): string =>
  startTask(call.region, { node: call.node, type, id: required(call, "vmid"), user: call.authUser }, work);

function refuseSkipLock(call: Call): void {
  refuseRootOnly(
    call,
    "skiplock",
    "keepActive",
    "stateuri",
    "migratedfrom",
    "migration_type",
    "migration_network",
  );
  refuseRootOnly(call, "targetstorage");
}

function start(call: Call): string {
  refuseSkipLock(call);
  const { region, node } = call;
  const vmid = vmidOf(call);
  return task(call, "qmstart", async (worker) => {
    await withVmLock(region, node, vmid, () => startVm(region, worker, node, vmid));
  });
}

/** Kills this caller's own running shutdown tasks of the VM, so that a stop need not wait for their lock. */
function abortShutdowns(call: Call, vmid: number): void {
  for (const running of call.region.live.values()) {
    const document = call.region.store.get("task", running.upid);
    if (document?.type !== "qmshutdown" || document.id !== String(vmid)) continue;
    if (
      document.user === call.authUser ||
      call.region.permissions.has(call.authUser, `/nodes/${call.node}`, "Sys.Modify")
    ) {
      running.kill();
    }
  }
}

function stop(call: Call): string {
  refuseSkipLock(call);
  const { region, node } = call;
  const vmid = vmidOf(call);
  return task(call, "qmstop", async (worker) => {
    if (flag(call, "overrule-shutdown")) abortShutdowns(call, vmid);
    await withVmLock(region, node, vmid, async () => {
      const vm = runningCheck(region, node, vmid);
      if (vm.process === null) return;
      requireNoConfigLock(vm);
      await worker.stage("stop");
      await worker.wait(seconds.stop);
      stopNow(region, worker, vmid, "stop");
      await region.realGuests?.settled(vmid);
    });
  });
}

/** Asks the guest to power down. Throws the timeout text when it did not in time. */
async function powerDown(
  region: Region,
  worker: Worker,
  vm: VmDocument,
  timeoutSeconds: number,
  force: boolean,
): Promise<void> {
  if (region.realGuests?.isReal(vm) === true)
    return await powerDownReal(region, worker, vm, timeoutSeconds, force);
  const deaf = region.taskFaults.unresponsiveGuests.has(vm.vmid);
  const needed = deaf ? Number.POSITIVE_INFINITY : seconds.guestShutdown;
  // The agent when it is enabled and answers, ACPI otherwise; a shutdown takes the same time with both here.
  worker.log(agentAnswers(region, vm) ? "guest agent: shutdown requested" : "ACPI: powerdown requested");
  await worker.stage("powerdown");
  await worker.wait(Math.min(needed, timeoutSeconds));
  if (needed <= timeoutSeconds) {
    stopNow(region, worker, vm.vmid, "shutdown");
    return;
  }
  if (!force) throw new Error("VM quit/powerdown failed - got timeout");
  worker.log("VM still running - terminating now with SIGTERM");
  await worker.wait(seconds.stop);
  stopNow(region, worker, vm.vmid, "forced-stop");
}

/** A guest that really runs takes its own time, in real seconds. */
async function powerDownReal(
  region: Region,
  worker: Worker,
  vm: VmDocument,
  timeoutSeconds: number,
  force: boolean,
): Promise<void> {
  const { realGuests } = region;
  if (realGuests === null) return;
  const { vmid } = vm;
  await worker.stage("powerdown");
  await realGuests.settled(vmid).catch(() => {});
  const isOff = await Promise.race([
    worker.untilKilled(),
    realGuests.powersOff(vmid, timeoutSeconds * 1000, async (machine) => {
      if (region.taskFaults.unresponsiveGuests.has(vmid)) return;
      const asked = await machine.pressPowerButton();
      worker.log(asked === "agent" ? "guest agent: shutdown requested" : "ACPI: powerdown requested");
    }),
  ]);
  if (!isOff && !force) throw new Error("VM quit/powerdown failed - got timeout");
  if (!isOff) worker.log("VM still running - terminating now with SIGTERM");
  stopNow(region, worker, vmid, isOff ? "shutdown" : "forced-stop");
  await realGuests.settled(vmid);
}

function shutdown(call: Call): string {
  refuseSkipLock(call);
  const { region, node } = call;
  const vmid = vmidOf(call);
  const force = flag(call, "forceStop");
  const paused = region.store.get("vm", String(vmid))?.process?.paused === true;
  // A paused guest hears nothing now, and would obey when it is resumed.
  if (paused && !force) throw failure("VM is paused - cannot shutdown");
  const timeout = number(call, "timeout") ?? 60;
  return task(call, "qmshutdown", async (worker) => {
    await withVmLock(region, node, vmid, async () => {
      const vm = runningCheck(region, node, vmid);
      if (vm.process === null) return;
      requireNoConfigLock(vm);
      if (paused) {
        await worker.wait(seconds.stop);
        stopNow(region, worker, vmid, "stop");
        await region.realGuests?.settled(vmid);
        return;
      }
      await powerDown(region, worker, vm, timeout, force);
    });
  });
}

function reboot(call: Call): string {
  const { region, node } = call;
  const vmid = vmidOf(call);
  const first = runningCheck(region, node, vmid);
  if (first.process?.paused) throw failure("VM is paused - cannot shutdown");
  if (first.process === null) throw failure(`VM ${vmid} not running`);
  const timeout = number(call, "timeout") ?? 60;
  return task(call, "qmreboot", async (worker) => {
    await withVmLock(region, node, vmid, async () => {
      const vm = vmOn(region, node, vmid);
      if (vm.process === null) throw new Error(`VM ${vmid} not running`);
      worker.log("requesting reboot");
      await powerDown(region, worker, vm, timeout, false);
    });
    // qmeventd sees the request and starts the VM in a task of its own, after this one has ended with OK.
    void region.runtime.wait(seconds.rebootRestart).then(() => {
      if (region.store.get("vm", String(vmid))?.node !== node) return;
      const what = { node, type: "qmstart", id: String(vmid), user: "root@pam" };
      startTask(region, what, (next) =>
        withVmLock(region, node, vmid, () => startVm(region, next, node, vmid)),
      );
    });
  });
}

/** Changes a running VM's process in a short task. */
function processTask(
  call: Call,
  type: string,
  op: string,
  change: (process: VmProcess, now: number) => VmProcess,
): string {
  refuseSkipLock(call);
  const { region, node } = call;
  const vmid = vmidOf(call);
  const check = (): VmDocument & { process: VmProcess } => {
    const vm = runningCheck(region, node, vmid);
    if (vm.process === null) throw failure(`VM ${vmid} not running`);
    return { ...vm, process: vm.process };
  };
  check();
  return task(call, type, async (worker) => {
    await withVmLock(region, node, vmid, async () => {
      requireNoConfigLock(check());
      await worker.wait(seconds.reset);
      const vm = check();
      const process = change(vm.process, region.runtime.nowMs());
      const changed: VmDocument = { ...vm, process };
      // The guest starts again, with the present content of its drive.
      const after = process.guestBootAt === vm.process.guestBootAt ? changed : bootGuest(changed);
      worker.commit({ op, vmid }, [["vm", String(vmid), after]]);
      await region.realGuests?.settled(vmid);
    });
  });
}

function suspend(call: Call): string {
  if (flag(call, "todisk")) throw failure("the lab does not suspend to disk");
  return processTask(call, "qmpause", "vm-paused", (process) => ({ ...process, paused: true }));
}

export const vmPowerHandlers: Handlers = {
  "POST /nodes/{node}/qemu/{vmid}/status/start": start,
  "POST /nodes/{node}/qemu/{vmid}/status/stop": stop,
  "POST /nodes/{node}/qemu/{vmid}/status/shutdown": shutdown,
  "POST /nodes/{node}/qemu/{vmid}/status/reboot": reboot,
  // The process survives: pending changes are not applied.
  "POST /nodes/{node}/qemu/{vmid}/status/reset": (call) =>
    processTask(call, "qmreset", "vm-reset", (process, now) => ({ ...process, guestBootAt: now })),
  "POST /nodes/{node}/qemu/{vmid}/status/suspend": suspend,
  "POST /nodes/{node}/qemu/{vmid}/status/resume": (call) =>
    processTask(call, "qmresume", "vm-resumed", (process) => ({ ...process, paused: false })),
};
