// Faults that are not on a link: the API unreachable, no quorum, agents killed or suspended, failing tasks,
// manual changes.

import type { TaskFault } from "@kule/lab/tasks/task-faults";
import type { Dice } from "./dice.ts";
import { TEMPLATE } from "./simulated-region.ts";
import type { Simulation } from "./simulation.ts";

const TRANSIENT_TASK_ERRORS = [
  "can't lock file '/var/lock/qemu-server/lock-20000.conf' - got timeout",
  "cfs-lock 'storage-ceph-vm' error: got lock request timeout",
] as const;
const PERMANENT_TASK_ERROR = "clone failed: no space left on device";
const TASK_TYPES = [
  "qmclone",
  "qmconfig",
  "resize",
  "qmstart",
  "qmshutdown",
  "qmdestroy",
  "qmstop",
  "qmreset",
] as const;
const LONGEST_SLEEP_MILLISECONDS = 135_000;

export function startFaults(simulation: Simulation): void {
  const { plan, clock } = simulation;
  const dice = simulation.dice.fork();
  simulation.startWorker(dice);
  const at = (seconds: number, act: () => void) =>
    clock.after(seconds * 1000, () => {
      if (simulation.hasFaults) act();
    });
  for (const [from, to] of plan.apiAway) {
    at(from, () => {
      simulation.isApiAway = true;
      simulation.api.dropConnections();
      simulation.mark("api", "away");
    });
    at(to, () => {
      simulation.isApiAway = false;
      simulation.mark("api", "back");
    });
  }
  for (const [from, to] of plan.noQuorum) {
    at(from, () => simulation.region.world.loseQuorum());
    at(to, () => simulation.region.world.regainQuorum());
  }
  const someAgent = () => simulation.agents[dice.whole(0, Math.max(0, simulation.agents.length - 1))];
  for (const seconds of plan.kills) at(seconds, () => someAgent()?.kill());
  for (const seconds of plan.restarts) at(seconds, () => someAgent()?.stop());
  for (const seconds of plan.sleeps)
    at(seconds, () => void someAgent()?.sleep(dice.between(1_000, LONGEST_SLEEP_MILLISECONDS)));
  // A task on a VM holds its lock file: no edit and no move can happen then.
  const isBusy = (vmid: number) =>
    [...simulation.region.region.live.values()].some(({ upid }) => upid.split(":")[6] === String(vmid));
  const someVm = () => {
    const vms = simulation.region
      .vms()
      .filter((vm) => vm.config.lock === undefined && !vm.temporary && !isBusy(vm.vmid));
    return vms[dice.whole(0, Math.max(0, vms.length - 1))];
  };
  for (let edit = 0; edit < plan.edits; edit++)
    at(dice.between(5, plan.faultSeconds), () => {
      const vm = someVm();
      if (vm === undefined) return;
      if (dice.chance(0.5)) simulation.region.world.touchConfig(vm.vmid);
      else simulation.region.world.migrateVm(vm.vmid, vm.node === "pve1" ? "pve2" : "pve1");
      simulation.edited.add(vm.vmid);
      simulation.mark("edited", String(vm.vmid));
    });
  if (plan.taskFault > 0)
    for (let seconds = 1; seconds < plan.faultSeconds; seconds += 5)
      if (dice.chance(plan.taskFault)) at(seconds, () => breakNextTask(simulation, dice));
}

function breakNextTask(simulation: Simulation, dice: Dice): void {
  const type = dice.pick(TASK_TYPES);
  const kind = dice.whole(0, simulation.plan.permanent ? 6 : 4);
  if (kind > 4) simulation.permanentFaults += 1;
  simulation.counts.taskFaults += 1;
  simulation.mark("task fault", `${type} ${kind}`);
  simulation.region.region.taskFaults.add(faultOf(kind, type, dice));
}

function faultOf(kind: number, type: string, dice: Dice): TaskFault {
  switch (kind) {
    case 0:
      return { type, action: "warnings" };
    case 1:
      return { type, action: "never-ends" };
    case 2:
      return { type, action: "log-missing" };
    case 3:
      return { type, action: "error", text: dice.pick(TRANSIENT_TASK_ERRORS) };
    case 4:
      return { type, action: "killed" };
    case 5:
      return { type, action: "ok-without-effect" };
    default:
      return { type: "qmclone", id: String(TEMPLATE), action: "error", text: PERMANENT_TASK_ERROR };
  }
}
