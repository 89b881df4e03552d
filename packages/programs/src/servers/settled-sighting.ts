// A VM has a third state in addition to absent and present: a task is still running on it. The programs wait
// for its end before anything is planned; without this a crash in the middle of a clone would do damage.

import type { EffectContext, Owner, VmSighting } from "@kule/proxmox/hypervisor";
import { RetryLater } from "../errors.ts";
import type { World } from "../program.ts";

/** A lock without a task: the worker may be between two tasks, or dead. */
const STALE_LOCK_MILLISECONDS = 30_000;
/** A backup or a migration holds its lock for as long as it takes; the job is retried after this. */
const LOCK_WAIT_MILLISECONDS = 10 * 60_000;
/** A task that is still running by then is an operator's to check; the job is retried later. */
const TASK_WAIT_MILLISECONDS = 60 * 60_000;
const LOCK_POLL_MILLISECONDS = 5_000;

/** `stale` is a clone that died: its lock stays, and an API token can neither unlock nor delete it. */
export type SettledSighting =
  | Exclude<VmSighting, { state: "busy" }>
  | { readonly state: "stale"; readonly node: string; readonly lock: string };

/** Waits until no task runs on the VM. Throws RetryLater when that takes too long. */
export async function settledSighting(
  world: Pick<World, "hypervisor" | "runtime">,
  vmid: number,
  owner: Owner,
  templateVmid: number | undefined,
  effect: EffectContext,
): Promise<SettledSighting> {
  const { hypervisor, runtime } = world;
  const startedAt = runtime.now();
  let lockedWithoutTaskSince: number | null = null;
  for (;;) {
    const sighting = await hypervisor.findVm(vmid, owner, templateVmid, effect.signal);
    if (sighting.state !== "busy") return sighting;
    const waited = runtime.now() - startedAt;
    await effect.stillRunning(waited);
    if (waited > (sighting.task ? TASK_WAIT_MILLISECONDS : LOCK_WAIT_MILLISECONDS))
      throw new RetryLater({
        code: "vm_locked",
        message: "The virtual machine is busy in the region; this is tried again.",
        internal: `VM ${vmid} on ${sighting.node} has been busy for ${Math.round(waited / 60_000)} min (lock ${sighting.lock}, task ${sighting.task?.upid ?? "none"}); if no task runs for it: qm unlock ${vmid}`,
      });
    if (sighting.task) {
      lockedWithoutTaskSince = null;
      await hypervisor.waitForTask(sighting.task.upid, effect);
      continue;
    }
    lockedWithoutTaskSince ??= runtime.now();
    const unexplained = runtime.now() - lockedWithoutTaskSince;
    if (sighting.lock === "clone" && unexplained >= STALE_LOCK_MILLISECONDS)
      return { state: "stale", node: sighting.node, lock: "clone" };
    await runtime.pause(LOCK_POLL_MILLISECONDS, effect.signal);
  }
}
