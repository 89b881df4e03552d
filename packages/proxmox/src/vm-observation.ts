// What a VM is right now. cluster/resources tells the node, the lock and the pool freshly, but name and power state
// only every 10 s, so those are read from the VM itself. The node is resolved anew for every look: a VM that has
// moved "does not exist" where it was.

import type { AnswerOf, ProxmoxClient } from "./client.ts";
import { ProxmoxError, ProxmoxExists, ProxmoxLocked, ProxmoxNotFound, ProxmoxNotOurs } from "./errors.ts";
import type { Owner, RunningTask, Template, Vm, VmSighting } from "./hypervisor.ts";
import { readBoolean, readNumber } from "./lenient.ts";
import { parseMarker } from "./marker.ts";
import type { Runtime } from "./runtime.ts";
import { parseTags } from "./tags.ts";

export type Region = { readonly client: ProxmoxClient; readonly runtime: Runtime };

/** A VM that moves between the look at the cluster and the look at its node is looked for again. */
const RESOLVE_ATTEMPTS = 4;
const RESOLVE_PAUSE_MILLISECONDS = 500;
/** A clone writes its config about a second after the task has begun; until then nothing names the new VMID. */
const UNNAMED_CLONE_SECONDS = 15;
/** Looking at a console is no work on the VM. */
const HARMLESS_TASKS = new Set(["vncproxy", "termproxy", "spiceproxy", "vncshell"]);

export async function observeVm(
  { client, runtime }: Region,
  vmid: number,
  owner: Owner,
  templateVmid?: number,
  signal?: AbortSignal,
): Promise<VmSighting> {
  for (let attempt = 1; ; attempt++) {
    const rows = await client.call("GET /cluster/resources", { type: "vm" }, { signal });
    const row = rowOf(rows, vmid);
    const templateNode = templateVmid === undefined ? undefined : rowOf(rows, templateVmid)?.node;
    const template =
      templateVmid === undefined || !templateNode ? null : { vmid: templateVmid, node: templateNode };
    if (!row) {
      const clone = template ? await findClone({ client, runtime }, vmid, template, signal) : null;
      if (clone) return { state: "busy", node: template?.node ?? "", lock: null, task: clone };
      // The list shows only what the token may see; the id check sees everything.
      if (await isFree(client, vmid, signal)) return { state: "absent" };
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
      return await observeOnNode({ client, runtime }, vmid, row, owner, template, signal);
    } catch (error) {
      if (!(error instanceof ProxmoxNotFound) || attempt >= RESOLVE_ATTEMPTS) throw error;
      await runtime.pause(RESOLVE_PAUSE_MILLISECONDS, signal);
    }
  }
}

type Row = { type: string; node: string; lock: string | null; pool: string | null };

type ResourceRows = AnswerOf<"GET /cluster/resources">;

function rowOf(rows: ResourceRows, vmid: number): Row | null {
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
  { client, runtime }: Region,
  vmid: number,
  row: Row,
  owner: Owner,
  template: Template | null,
  signal: AbortSignal | undefined,
): Promise<VmSighting> {
  const path = { node: row.node, vmid };
  const [raw, status, pending, active] = await Promise.all([
    client.call("GET /nodes/{node}/qemu/{vmid}/config", path, { signal }),
    client.call("GET /nodes/{node}/qemu/{vmid}/status/current", path, { signal }),
    client.call("GET /nodes/{node}/qemu/{vmid}/pending", path, { signal }),
    client.call("GET /nodes/{node}/tasks", { node: row.node, source: "active", vmid }, { signal }),
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
    const clone =
      template && (lock === "clone" || temporary)
        ? await findClone({ client, runtime }, vmid, template, signal)
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
    highlyAvailable: readBoolean((status.ha as { managed?: number | string } | undefined)?.managed),
    config,
    pendingKeys: pending.flatMap(({ key, pending: value, delete: removal }) =>
      value !== undefined || (readNumber(removal) ?? 0) > 0 ? [key] : [],
    ),
    digest: config.digest ?? "",
  };
  return { state: "present", vm };
}

function powerOf(status: string, qmpStatus: string | undefined): Vm["power"] {
  if (status !== "running") return "stopped";
  return qmpStatus === undefined || qmpStatus === "running" ? "running" : "paused";
}

function isOwner(marker: { serverId: string; region: string }, owner: Owner): boolean {
  return marker.serverId === owner.serverId && marker.region === owner.region;
}

/** Every value as text: the same key comes as a number from one version and as a string from the next. */
export function normalConfig(raw: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(raw).flatMap(([key, value]) =>
      value === undefined || value === null ? [] : [[key, String(value)]],
    ),
  );
}

type TaskRow = { upid: string; type: string; status?: string; user: string; starttime: number | string };

function firstWorking(tasks: readonly TaskRow[]): RunningTask | null {
  const working = tasks.find((task) => isRunning(task) && !HARMLESS_TASKS.has(task.type));
  return working ? { upid: working.upid, type: working.type } : null;
}

/** The list of active tasks also holds some that have just ended; those carry their exit status. */
function isRunning(task: TaskRow): boolean {
  return task.status === undefined || task.status === "" || task.status.toUpperCase() === "RUNNING";
}

/**
 * The running clone that makes this VMID, if any. A clone's task bears the template's VMID, so the log is what
 * names the new one; a task too young to have named any is taken for ours.
 */
async function findClone(
  { client, runtime }: Region,
  vmid: number,
  template: Template,
  signal: AbortSignal | undefined,
): Promise<RunningTask | null> {
  const tasks = await client.call(
    "GET /nodes/{node}/tasks",
    { node: template.node, source: "active", vmid: template.vmid, typefilter: "qmclone" },
    { signal },
  );
  for (const task of tasks) {
    if (!isRunning(task) || task.user !== client.tokenId) continue;
    const lines = await client.call(
      "GET /nodes/{node}/tasks/{upid}/log",
      { node: template.node, upid: task.upid },
      { signal },
    );
    const log = lines.map((line) => String(line.t)).join("\n");
    const named =
      /with ID (\d+)/.exec(log)?.[1] ??
      /\bvm-(\d+)-(?:disk|cloudinit)/.exec(log.replaceAll(`vm-${template.vmid}-`, ""))?.[1];
    const ageSeconds = runtime.now() / 1000 - (readNumber(task.starttime) ?? 0);
    if (named === undefined ? ageSeconds <= UNNAMED_CLONE_SECONDS : Number(named) === vmid)
      return { upid: task.upid, type: task.type };
  }
  return null;
}

export type OwnVm = {
  readonly node: string;
  readonly config: Readonly<Record<string, string>>;
  readonly digest: string;
};

/**
 * The last look before a call that changes or destroys: where the VM is and that it is still the owner's.
 * Throws ProxmoxNotFound, ProxmoxLocked or ProxmoxNotOurs.
 */
export async function requireOwnVm(
  { client, runtime }: Region,
  vmid: number,
  owner: Owner,
  signal?: AbortSignal,
): Promise<OwnVm> {
  const call = `look before changing VM ${vmid}`;
  for (let attempt = 1; ; attempt++) {
    const row = rowOf(await client.call("GET /cluster/resources", { type: "vm" }, { signal }), vmid);
    if (!row)
      throw new ProxmoxNotFound({
        call,
        status: null,
        text: `no node has VM ${vmid}`,
        outcome: "permanent",
        fix: null,
      });
    try {
      const config = normalConfig(
        await client.call("GET /nodes/{node}/qemu/{vmid}/config", { node: row.node, vmid }, { signal }),
      );
      const lock = row.lock ?? config.lock;
      if (lock)
        throw new ProxmoxLocked({
          call,
          status: null,
          text: `VM is locked (${lock})`,
          outcome: "retryable",
          fix: null,
        });
      const marker = parseMarker(config.description);
      if (row.type !== "qemu" || readBoolean(config.template) || !marker || !isOwner(marker, owner))
        throw new ProxmoxNotOurs({
          call,
          status: null,
          text: `VM ${vmid} on ${row.node} is not marked as ${owner.serverId} of region ${owner.region}`,
          outcome: "permanent",
          fix: "Somebody made or changed this VM by hand. Move it out of the region's VMID range, or restore its description.",
        });
      return { node: row.node, config, digest: config.digest ?? "" };
    } catch (error) {
      if (!(error instanceof ProxmoxNotFound) || attempt >= RESOLVE_ATTEMPTS) throw error;
      await runtime.pause(RESOLVE_PAUSE_MILLISECONDS, signal);
    }
  }
}

/** The nodes that answer at the moment. */
export async function onlineNodes(client: ProxmoxClient, signal?: AbortSignal): Promise<string[]> {
  const nodes = await client.call("GET /nodes", {}, { signal });
  return nodes
    .filter((each) => each.status === "online")
    .map((each) => each.node)
    .sort();
}

/** The running tasks of the client's token on every node that answers. */
export async function observeActiveTasks(
  client: ProxmoxClient,
  signal?: AbortSignal,
): Promise<RunningTask[]> {
  const found: RunningTask[] = [];
  for (const node of await onlineNodes(client, signal)) {
    try {
      const tasks = await client.call("GET /nodes/{node}/tasks", { node, source: "active" }, { signal });
      for (const task of tasks)
        if (isRunning(task) && task.user === client.tokenId) found.push({ upid: task.upid, type: task.type });
    } catch (error) {
      if (!(error instanceof ProxmoxError) || error.outcome !== "retryable") throw error;
    }
  }
  return found;
}
