// The tasks that run on a VM. A task has the VMID that it works on, except for a clone, which has the
// template's.

import type { ProxmoxClient } from "./client.ts";
import type { RunningTask } from "./hypervisor.ts";
import { readNumber } from "./lenient.ts";
import type { Runtime } from "./runtime.ts";
import { parseUpid } from "./upid.ts";

/** A console session does not change the VM. */
const HARMLESS_TASKS = new Set(["vncproxy", "termproxy", "spiceproxy", "vncshell"]);
/** A clone writes its config about a second after the task has begun. */
const CONFIG_WITHIN_SECONDS = 15;

type TaskRow = { upid: string; type: string; id: string; status?: string; starttime: number | string };

export function firstWorking(tasks: readonly TaskRow[]): RunningTask | null {
  const working = tasks.find((task) => isRunning(task) && !HARMLESS_TASKS.has(task.type));
  return working ? { upid: working.upid, type: working.type } : null;
}

/** The list of active tasks also contains some that have just ended; those have their exit status. */
export function isRunning(task: TaskRow): boolean {
  return task.status === undefined || task.status === "" || task.status.toUpperCase() === "RUNNING";
}

/** Whether the token started the task. The row has the token's user and its name apart; the UPID has them as one. */
export function isOf(tokenId: string, task: Pick<TaskRow, "upid">): boolean {
  return parseUpid(task.upid)?.user === tokenId;
}

/** Where a clone runs: on its template's node. Without the template, any on the node. */
export type CloneSource = {
  readonly node: string;
  readonly vmid?: number;
  /** Whether the new VM has a config already. */
  readonly hasConfig: boolean;
};

/** The clones that this process has begun, by their tasks, and the VMIDs that they make. */
export class StartedClones {
  readonly #vmids = new Map<string, number>();

  begun(upid: string, vmid: number): void {
    this.#vmids.set(upid, vmid);
    const [oldest] = this.#vmids.keys();
    if (this.#vmids.size > STARTED_CLONES_KEPT && oldest !== undefined) this.#vmids.delete(oldest);
  }

  /** Null for a task that this process has not seen. */
  vmidOf(upid: string): number | null {
    return this.#vmids.get(upid) ?? null;
  }
}

const STARTED_CLONES_KEPT = 1_000;

type CloneSearch = {
  readonly client: ProxmoxClient;
  readonly runtime: Runtime;
  readonly startedClones?: StartedClones;
};

/**
 * The running clone that creates this VMID, if any. A clone's task has the template's VMID. Which VM it
 * creates is known when this process has begun it, or when its log names it, which happens at the earliest
 * about a second after it began, and with Proxmox VE 8.4 on some storages never. A task of ours from that
 * template of which neither is known may be the one and is waited for, because its end shows what it has
 * created: of any age when the VM has a config, and only while it is too young to have written one when the
 * VM has none.
 */
export async function findClone(
  { client, runtime, startedClones }: CloneSearch,
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
  let possible: RunningTask | null = null;
  for (const task of tasks) {
    if (!isRunning(task) || !isOf(client.tokenId, task)) continue;
    const found = { upid: task.upid, type: task.type };
    const known = startedClones?.vmidOf(task.upid) ?? null;
    if (known !== null && known !== vmid) continue;
    const named = await namedInLog(client, source.node, task, signal);
    if (named === vmid || (known === vmid && source.hasConfig)) return found;
    const ageSeconds = runtime.now() / 1000 - (readNumber(task.starttime) ?? 0);
    if (named === null && (source.hasConfig || ageSeconds <= CONFIG_WITHIN_SECONDS)) possible ??= found;
  }
  return possible;
}

async function namedInLog(
  client: ProxmoxClient,
  node: string,
  { upid, id }: TaskRow,
  signal: AbortSignal | undefined,
): Promise<number | null> {
  const lines = await client.call("GET /nodes/{node}/tasks/{upid}/log", { node, upid }, { signal });
  const log = lines.map((line) => String(line.t)).join("\n");
  const named =
    /with ID (\d+)/.exec(log)?.[1] ??
    /\bvm-(\d+)-(?:disk|cloudinit)/.exec(log.replaceAll(`vm-${id}-`, ""))?.[1];
  return named === undefined ? null : Number(named);
}
