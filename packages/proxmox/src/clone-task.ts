// Which tasks are at work on a VM. A task bears the VMID it works on, except for a clone, which bears the template's.

import type { ProxmoxClient } from "./client.ts";
import type { RunningTask } from "./hypervisor.ts";
import { readNumber } from "./lenient.ts";
import type { Runtime } from "./runtime.ts";
import { parseUpid } from "./upid.ts";

/** Looking at a console is no work on the VM. */
const HARMLESS_TASKS = new Set(["vncproxy", "termproxy", "spiceproxy", "vncshell"]);
/** A clone writes its config about a second after the task has begun; until then nothing names the new VMID. */
const UNNAMED_CLONE_SECONDS = 15;

type TaskRow = { upid: string; type: string; id: string; status?: string; starttime: number | string };

export function firstWorking(tasks: readonly TaskRow[]): RunningTask | null {
  const working = tasks.find((task) => isRunning(task) && !HARMLESS_TASKS.has(task.type));
  return working ? { upid: working.upid, type: working.type } : null;
}

/** The list of active tasks also holds some that have just ended; those carry their exit status. */
export function isRunning(task: TaskRow): boolean {
  return task.status === undefined || task.status === "" || task.status.toUpperCase() === "RUNNING";
}

/** Whether the token started the task. The row has the token's user and its name apart; the UPID has them as one. */
export function isOf(tokenId: string, task: Pick<TaskRow, "upid">): boolean {
  return parseUpid(task.upid)?.user === tokenId;
}

/** Where a clone runs: on its template's node. Without the template, any on the node. */
export type CloneSource = { readonly node: string; readonly vmid?: number };

/**
 * The running clone that makes this VMID, if any. A clone's task bears the template's VMID, so the log is what
 * names the new one; a task too young to have named any is taken for ours.
 */
export async function findClone(
  { client, runtime }: { client: ProxmoxClient; runtime: Runtime },
  vmid: number,
  source: CloneSource,
  signal: AbortSignal | undefined,
): Promise<RunningTask | null> {
  const tasks = await client.call(
    "GET /nodes/{node}/tasks",
    {
      node: source.node,
      source: "active",
      typefilter: "qmclone",
      ...(source.vmid === undefined ? {} : { vmid: source.vmid }),
    },
    { signal },
  );
  for (const task of tasks) {
    if (!isRunning(task) || !isOf(client.tokenId, task)) continue;
    const lines = await client.call(
      "GET /nodes/{node}/tasks/{upid}/log",
      { node: source.node, upid: task.upid },
      { signal },
    );
    const log = lines.map((line) => String(line.t)).join("\n");
    const named =
      /with ID (\d+)/.exec(log)?.[1] ??
      /\bvm-(\d+)-(?:disk|cloudinit)/.exec(log.replaceAll(`vm-${task.id}-`, ""))?.[1];
    const ageSeconds = runtime.now() / 1000 - (readNumber(task.starttime) ?? 0);
    if (named === undefined ? ageSeconds <= UNNAMED_CLONE_SECONDS : Number(named) === vmid)
      return { upid: task.upid, type: task.type };
  }
  return null;
}
