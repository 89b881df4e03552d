// The present state of a VM. cluster/resources has a fresh node, lock and pool, but name and power state only
// every 10 s, so those are read from the VM itself. The node is resolved again for every observation: a VM
// that has moved "does not exist" where it was.

import type { AnswerOf, ProxmoxClient } from "./client.ts";
import { findClone, firstWorking, type StartedClones } from "./clone-task.ts";
import { ProxmoxExists, ProxmoxNotFound } from "./errors.ts";
import type { Owner, Template, Vm, VmSighting } from "./hypervisor.ts";
import { readBoolean, readNumber } from "./lenient.ts";
import { parseMarker } from "./marker.ts";
import type { Runtime } from "./runtime.ts";
import { parseTags } from "./tags.ts";

export type Region = {
  readonly client: ProxmoxClient;
  readonly runtime: Runtime;
  readonly startedClones?: StartedClones;
};

/** A VM that moves between the read of the cluster and the read of its node is searched again. */
export const RESOLVE_ATTEMPTS = 4;
export const RESOLVE_PAUSE_MILLISECONDS = 500;

export async function observeVm(
  region: Region,
  vmid: number,
  owner: Owner,
  templateVmid?: number,
  signal?: AbortSignal,
): Promise<VmSighting> {
  const { client, runtime } = region;
  for (let attempt = 1; ; attempt++) {
    const rows = await client.call("GET /cluster/resources", { type: "vm" }, { signal });
    const row = rowOf(rows, vmid);
    const templateNode = templateVmid === undefined ? undefined : rowOf(rows, templateVmid)?.node;
    const template =
      templateVmid === undefined || !templateNode ? null : { vmid: templateVmid, node: templateNode };
    if (!row) {
      const clone = async (hasConfig: boolean) =>
        template === null ? null : await findClone(region, vmid, { ...template, hasConfig }, signal);
      const young = await clone(false);
      if (young) return { state: "busy", node: template?.node ?? "", lock: null, task: young };
      // The list shows only what the token may see; the id check sees everything.
      if (await isFree(client, vmid, signal)) return { state: "absent" };
      const hidden = await clone(true);
      if (hidden) return { state: "busy", node: template?.node ?? "", lock: null, task: hidden };
      if (attempt < RESOLVE_ATTEMPTS) {
        await runtime.pause(RESOLVE_PAUSE_MILLISECONDS, signal);
        continue;
      }
      return {
        state: "foreign",
        node: null,
        why: `VMID ${vmid} is taken by a guest that this token may not see`,
      };
    }
    if (row.type !== "qemu") return { state: "foreign", node: row.node, why: `VMID ${vmid} is a container` };
    try {
      return await observeOnNode(region, vmid, row, owner, template, signal);
    } catch (error) {
      if (!(error instanceof ProxmoxNotFound) || attempt >= RESOLVE_ATTEMPTS) throw error;
      await runtime.pause(RESOLVE_PAUSE_MILLISECONDS, signal);
    }
  }
}

type Row = { type: string; node: string; lock: string | null; pool: string | null };

type ResourceRows = AnswerOf<"GET /cluster/resources">;

export function rowOf(rows: ResourceRows, vmid: number): Row | null {
  const row = rows.find((each) => readNumber(each.vmid) === vmid);
  if (!row) return null;
  return {
    type: row.type,
    node: row.node ?? "",
    lock: row.lock || null,
    pool: row.pool || null,
  };
}

async function isFree(client: ProxmoxClient, vmid: number, signal?: AbortSignal): Promise<boolean> {
  try {
    await client.call("GET /cluster/nextid", { vmid }, { signal });
    return true;
  } catch (error) {
    if (error instanceof ProxmoxExists) return false;
    throw error;
  }
}

async function observeOnNode(
  region: Region,
  vmid: number,
  row: Row,
  owner: Owner,
  template: Template | null,
  signal: AbortSignal | undefined,
): Promise<VmSighting> {
  const { client } = region;
  const path = { node: row.node, vmid };
  // The tasks first: the effect of a task that is not running any more is then in what is read after it. In
  // the other order, a task that ends between the two looks like no task and no change.
  const active = await client.call(
    "GET /nodes/{node}/tasks",
    { node: row.node, source: "active", vmid },
    { signal },
  );
  // The config before what waits for a start, for the same reason: a change between the two is then seen as waiting, and
  // its digest refuses ours. The other way round the config has it already and nothing waits for it.
  const raw = await client.call("GET /nodes/{node}/qemu/{vmid}/config", path, { signal });
  const [status, pending] = await Promise.all([
    client.call("GET /nodes/{node}/qemu/{vmid}/status/current", path, { signal }),
    client.call("GET /nodes/{node}/qemu/{vmid}/pending", path, { signal }),
  ]);
  const config = normalConfig(raw);
  const lock = row.lock ?? config.lock ?? null;
  const marker = parseMarker(config.description);
  if (readBoolean(config.template))
    return { state: "foreign", node: row.node, why: `VMID ${vmid} is a template` };
  if (marker && !isOwner(marker, owner))
    return {
      state: "foreign",
      node: row.node,
      why: `VM ${vmid} belongs to ${marker.serverId} in region ${marker.region}`,
    };
  const temporary = (config.description ?? "").includes("qmclone temporary file");
  const task = firstWorking(active);
  if (lock !== null || temporary || task) {
    // A stop or destroy does not know the server's template: the config of a running clone is still on the
    // node where the clone runs.
    const clone =
      lock === "clone" || temporary
        ? await findClone(region, vmid, { ...(template ?? { node: row.node }), hasConfig: true }, signal)
        : null;
    return { state: "busy", node: row.node, lock: lock ?? (temporary ? "clone" : null), task: clone ?? task };
  }
  if (!marker) return { state: "foreign", node: row.node, why: `VM ${vmid} carries no marker of ours` };
  const vm: Vm = {
    vmid,
    node: row.node,
    name: config.name ?? null,
    marker,
    tags: parseTags(config.tags),
    pool: row.pool,
    power: powerOf(status.status, status.qmpstatus),
    process: processOf(row.node, status),
    highlyAvailable: readBoolean((status.ha as { managed?: number | string } | undefined)?.managed),
    config,
    pendingKeys: pending.flatMap(({ key, pending: value, delete: removal }) =>
      value !== undefined || (readNumber(removal) ?? 0) > 0 ? [key] : [],
    ),
    digest: config.digest ?? "",
  };
  return { state: "present", vm };
}

/** A VM that moved to another node runs in another process there, invisibly to its guest. */
export function processOf(node: string, status: { status: string; pid?: number | string }): string | null {
  return status.status === "running" && status.pid !== undefined ? `${node}:${status.pid}` : null;
}

function powerOf(status: string, qmpStatus: string | undefined): Vm["power"] {
  if (status !== "running") return "stopped";
  return qmpStatus === undefined || qmpStatus === "running" ? "running" : "paused";
}

export function isOwner(marker: { serverId: string; region: string }, owner: Owner): boolean {
  return marker.serverId === owner.serverId && marker.region === owner.region;
}

/** Every value as text: the same key is a number in one version and a string in the next. */
export function normalConfig(raw: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(raw).flatMap(([key, value]) =>
      value === undefined || value === null ? [] : [[key, String(value)]],
    ),
  );
}
