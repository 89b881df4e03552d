import type { PayloadOf } from "@kule/contract/schemas";
import type { DesiredConfig, Vm } from "@kule/proxmox/hypervisor";
import { Failed } from "../../errors.ts";
import { keptConfig, noteOf, REMOVING_TAG } from "../existing-server.ts";
import { isComplete, requireComplete, vmMissing } from "../vm-problems.ts";

export type SeenPower =
  | { readonly state: "absent" }
  /** Our own shutdown still waits for the guest and holds the VM; only a stop supersedes it. */
  | { readonly state: "shutting-down" }
  | { readonly state: "present"; readonly vm: Vm; readonly lastReset: string | null };

export type PowerStep =
  /** A usable server is not being removed: the restore that should have unmarked it has failed. */
  | { readonly do: "unmark"; readonly config: DesiredConfig }
  /** Records what was observed: one observation cannot show whether a guest was rebooted or reset. */
  | { readonly do: "note"; readonly vm: Vm; readonly facts: Readonly<Record<string, string>> }
  | { readonly do: "shut-down"; readonly process: string | null }
  | { readonly do: "power-off"; readonly process: string | null }
  | { readonly do: "reset"; readonly after: string | null }
  | { readonly do: "start" };

type Payload = PayloadOf<"ServerPower">;

/** Recorded in a note where there was none. */
const NONE = "none";

/** The steps from the observed VM to the requested state. */
export function planPower(jobId: string, payload: Payload, seen: SeenPower): readonly PowerStep[] {
  if (seen.state === "absent") throw vmMissing(payload.vmid);
  if (seen.state === "shutting-down") return [{ do: "power-off", process: null }];
  const { vm } = seen;
  const unmark: PowerStep[] = vm.tags.includes(REMOVING_TAG)
    ? [{ do: "unmark", config: keptConfig(payload, vm) }]
    : [];
  if (isOfNoUse(payload, vm)) {
    if (unmark.length > 0) return unmark;
    requireComplete(payload, vm);
  }
  return [...unmark, ...planAction(jobId, payload, vm, seen.lastReset)];
}

/**
 * An incomplete VM is switched off if it runs, and neither started nor reported as stopped: its owner would
 * start it, and would no longer see that the rebuild has to be retried.
 */
function isOfNoUse(payload: Payload, vm: Vm): boolean {
  return !isComplete(payload, vm) && (vm.power === "stopped" || payload.action === "reboot");
}

function planAction(jobId: string, payload: Payload, vm: Vm, lastReset: string | null): readonly PowerStep[] {
  switch (payload.action) {
    case "start":
      return vm.power === "stopped" ? [{ do: "start" }] : [];
    case "shutdown":
      return off(payload, vm);
    case "stop":
      return vm.power === "stopped" ? [] : [{ do: "power-off", process: vm.process }];
    case "reboot":
      return planReboot(jobId, payload, vm);
    case "reset":
      return planReset(jobId, vm, lastReset);
  }
}

/** A paused guest cannot be asked: it is powered off if that is allowed. */
function off(payload: Payload, vm: Vm): PowerStep[] {
  if (vm.power === "stopped") return [];
  if (vm.power === "running") return [{ do: "shut-down", process: vm.process }];
  if (payload.force_after) return [{ do: "power-off", process: vm.process }];
  throw new Failed({
    code: "guest_ignored",
    message: "The guest is paused in the region and cannot be asked to shut down.",
    internal: `VM ${vm.vmid} on ${vm.node} is paused, or stands still for want of storage`,
  });
}

/**
 * Done when the guest runs and was recorded as off. Another process than before proves nothing: a VM that
 * moves to another node and back gets one too, without a reboot.
 */
function planReboot(jobId: string, payload: Payload, vm: Vm): PowerStep[] {
  const wasOff = noteOf(jobId, vm)?.process === NONE;
  const note = { do: "note", vm, facts: { process: NONE } } as const;
  if (vm.power === "stopped") return [...(wasOff ? [] : [note]), { do: "start" }];
  // Only the next observation shows that it is off: the guest may have been moved in the meantime.
  return wasOff ? [] : off(payload, vm);
}

/** Done when a reset has succeeded after the last one that was noted. */
function planReset(jobId: string, vm: Vm, lastReset: string | null): PowerStep[] {
  const noted = noteOf(jobId, vm)?.reset;
  const last = lastReset ?? NONE;
  if (noted !== undefined && noted !== last) return [];
  if (vm.power === "stopped")
    throw new Failed({
      code: "guest_stopped",
      message: "The server had stopped by itself before it could be reset. It can be started.",
      internal: `VM ${vm.vmid} on ${vm.node} is stopped`,
    });
  const reset = { do: "reset", after: lastReset } as const;
  return noted === undefined ? [{ do: "note", vm, facts: { reset: last } }, reset] : [reset];
}
