// The hypervisor port over the Proxmox VE API. Each changing call has the same order: check again whose VM it
// is, ask the job whether it may continue, send, report the task's UPID, wait for the task.

import { type AdoptionSighting, findAdoptionCandidate, requireAdoptable } from "./adoption.ts";
import type { CallOptions, ProxmoxClient } from "./client.ts";
import { StartedClones } from "./clone-task.ts";
import { observeActiveTasks } from "./cluster.ts";
import { ConcurrencyLimit } from "./concurrency-limit.ts";
import { configDifference, isEmptyDifference } from "./config-difference.ts";
import { bootDiskOf, disksOf } from "./disks.ts";
import {
  ProxmoxAgentUnavailable,
  ProxmoxAlready,
  ProxmoxConflict,
  ProxmoxError,
  ProxmoxForbidden,
} from "./errors.ts";
import {
  type GuestCommand,
  type GuestEnd,
  readGuestInterfaces,
  readGuestName,
  runInGuest,
} from "./guest-agent.ts";
import { asRecord, asText, resultOf } from "./guest-answer.ts";
import { isHighlyAvailable, waitForPower } from "./high-availability.ts";
import type {
  AdoptionMarks,
  CloneRequest,
  ConfigureRequest,
  EffectContext,
  Hypervisor,
  LeftoverVolume,
  Owner,
  RunningTask,
  Template,
  Vm,
  VmSighting,
} from "./hypervisor.ts";
import { withChangeNoted } from "./job-note.ts";
import { findLeftoverVolumes } from "./leftover-volumes.ts";
import { readBoolean, readNumber } from "./lenient.ts";
import { parseMarker } from "./marker.ts";
import { type OwnVm, requireOwnVm } from "./own-vm.ts";
import { type Runtime, systemRuntime } from "./runtime.ts";
import { renderSize } from "./sizes.ts";
import { renderTags, sameTags } from "./tags.ts";
import { hasSucceeded, waitForTask } from "./task.ts";
import {
  applyFirewallChange,
  type DesiredFirewall,
  type ReadFirewall,
  readVmFirewall,
  readVmFirewallRules,
  readVmIpset,
  type SeenFirewall,
} from "./vm-firewall.ts";
import { afterFirewallChange, type FirewallChange, isRuleChange } from "./vm-firewall-difference.ts";
import { nextNotedChange } from "./vm-firewall-note.ts";
import { observeVm, processOf } from "./vm-observation.ts";

const CLONE_TIMEOUT_SECONDS = 30 * 60;
const CONFIGURE_TIMEOUT_SECONDS = 120;
const RESIZE_TIMEOUT_SECONDS = 120;
const START_TIMEOUT_SECONDS = 5 * 60;
const STOP_TIMEOUT_SECONDS = 3 * 60;
const DESTROY_TIMEOUT_SECONDS = 10 * 60;
/** Enough to find one that succeeded among those that did not. */
const RESETS_CHECKED = 20;
/** Slow storage answers more clones at a time with lock timeouts. */
const CLONES_PER_STORAGE = 2;

export class ProxmoxHypervisor implements Hypervisor {
  readonly #client: ProxmoxClient;
  readonly #runtime: Runtime;
  readonly #clones = new ConcurrencyLimit(CLONES_PER_STORAGE);
  readonly #startedClones = new StartedClones();

  constructor(client: ProxmoxClient, runtime: Runtime = systemRuntime) {
    this.#client = client;
    this.#runtime = runtime;
  }

  findVm(vmid: number, owner: Owner, templateVmid?: number, signal?: AbortSignal): Promise<VmSighting> {
    const region = { client: this.#client, runtime: this.#runtime, startedClones: this.#startedClones };
    return observeVm(region, vmid, owner, templateVmid, signal);
  }

  async findTemplate(vmid: number, signal?: AbortSignal): Promise<Template | null> {
    const rows = await this.#client.call("GET /cluster/resources", { type: "vm" }, { signal });
    const row = rows.find((each) => readNumber(each.vmid) === vmid);
    if (!row?.node) return null;
    // The list shows a template up to 10 s late; the config is exact.
    const { template } = await this.#client.call(
      "GET /nodes/{node}/qemu/{vmid}/config",
      { node: row.node, vmid },
      { signal },
    );
    return readBoolean(template) ? { vmid, node: row.node } : null;
  }

  async waitForTask(upid: string, effect: EffectContext): Promise<void> {
    try {
      await this.#wait(upid, effect, CLONE_TIMEOUT_SECONDS);
    } catch (error) {
      // Its result matters only through its effect, which the next observation shows.
      if (!(error instanceof ProxmoxError) || (error.facts.task === undefined && error.outcome !== "unknown"))
        throw error;
    }
  }

  async poolExists(pool: string, signal?: AbortSignal): Promise<boolean> {
    const pools = await this.#client.call("GET /pools", {}, { signal });
    return pools.some((each) => each.poolid === pool);
  }

  async ensurePool(pool: string, comment: string, effect: EffectContext): Promise<void> {
    if (await this.poolExists(pool, effect.signal)) return;
    await effect.beforeCall();
    try {
      await this.#client.call("POST /pools", { poolid: pool, comment }, callOptions(effect));
    } catch (error) {
      // Two first servers of one organisation create the pool concurrently: either one will do.
      if (!(error instanceof ProxmoxError) || !(await this.poolExists(pool, effect.signal))) throw error;
    }
  }

  joinPool(vmid: number, owner: Owner, pool: string, effect: EffectContext): Promise<void> {
    return this.#changePool(vmid, owner, { poolid: pool, "allow-move": true }, effect);
  }

  leavePool(vmid: number, owner: Owner, pool: string, effect: EffectContext): Promise<void> {
    return this.#changePool(vmid, owner, { poolid: pool, delete: true }, effect);
  }

  /** Needs Pool.Allocate on the pool, and on a former one, and VM.Allocate on the VM. */
  async #changePool(
    vmid: number,
    owner: Owner,
    change: { readonly poolid: string; readonly "allow-move"?: true; readonly delete?: true },
    effect: EffectContext,
  ): Promise<void> {
    const isDone = async () =>
      ((await this.#own(vmid, owner, effect)).pool === change.poolid) !== (change.delete === true);
    if (await isDone()) return;
    await effect.beforeCall();
    try {
      await this.#client.call("PUT /pools", { ...change, vms: String(vmid) }, callOptions(effect));
    } catch (error) {
      // An earlier copy of the call may have arrived first: "is already a pool member".
      if (!(error instanceof ProxmoxError) || error.outcome === "unknown" || !(await isDone())) throw error;
    }
  }

  async clone(request: CloneRequest, effect: EffectContext): Promise<void> {
    const { template, vmid, name, description, pool, storage, full, targetNode } = request;
    await this.#clones.run(storage ?? `template ${template.vmid}`, async () => {
      await effect.beforeCall();
      const upid = await this.#client.call(
        "POST /nodes/{node}/qemu/{vmid}/clone",
        {
          node: template.node,
          vmid: template.vmid,
          newid: vmid,
          name,
          description,
          pool,
          full,
          ...(full && storage !== null ? { storage } : {}),
          ...(targetNode === undefined ? {} : { target: targetNode }),
        },
        callOptions(effect),
      );
      this.#startedClones.begun(upid, vmid);
      await this.#started(upid, effect, CLONE_TIMEOUT_SECONDS);
    });
  }

  async configure(
    vmid: number,
    owner: Owner,
    request: ConfigureRequest,
    effect: EffectContext,
  ): Promise<void> {
    const vm = await this.#own(vmid, owner, effect);
    const difference = configDifference(request.desired, vm.config, request.rewriteSecrets);
    if (isEmptyDifference(difference)) return;
    // The digest is of the config's text. If an earlier text came back, as when an address is attached and
    // detached again, a late copy of an earlier call would be accepted.
    const description = withChangeNoted(difference.set.description ?? vm.config.description, effect.jobId);
    await effect.beforeCall();
    // POST runs as a task: PUT would block one of three API workers and break off after 30 s.
    const upid = await this.#client.call(
      "POST /nodes/{node}/qemu/{vmid}/config",
      {
        node: vm.node,
        vmid,
        ...(difference.set as Record<string, never>),
        ...(description === vm.config.description ? {} : { description }),
        ...(difference.remove.length > 0 ? { delete: difference.remove.join(",") } : {}),
        digest: vm.digest,
      },
      callOptions(effect),
    );
    await this.#started(upid, effect, CONFIGURE_TIMEOUT_SECONDS);
  }

  async readFirewall(vm: Vm, signal?: AbortSignal): Promise<SeenFirewall> {
    const path = { node: vm.node, vmid: vm.vmid };
    const { options, ipsets, rules, rulesDigest } = await readVmFirewall(this.#client, path, signal);
    return { options, ipsets, rules, rulesDigest };
  }

  async setFirewall(
    vmid: number,
    owner: Owner,
    desired: DesiredFirewall,
    effect: EffectContext,
  ): Promise<void> {
    const { node } = await this.#own(vmid, owner, effect);
    const path = { node, vmid };
    let seen = await readVmFirewall(this.#client, path, effect.signal);
    for (;;) {
      const change = nextNotedChange(desired, seen, effect.jobId);
      if (change === null) return;
      if (change.do === "remove-address" && !(change.name in seen.ipsetDigests)) {
        const { addresses, digest } = await readVmIpset(this.#client, path, change.name, effect.signal);
        const ipsets = { ...seen.ipsets, [change.name]: addresses };
        seen = { ...seen, ipsets, ipsetDigests: { ...seen.ipsetDigests, [change.name]: digest } };
        continue;
      }
      await effect.beforeCall();
      await applyFirewallChange(this.#client, path, change, seen, callOptions(effect));
      seen = await this.#afterFirewallChange(path, seen, change, effect);
    }
  }

  /** Reads the present state; what was read before a change must not be the basis of another one. */
  async #afterFirewallChange(
    path: { readonly node: string; readonly vmid: number },
    read: ReadFirewall,
    change: FirewallChange,
    effect: EffectContext,
  ): Promise<ReadFirewall> {
    const after: ReadFirewall = { ...read, ...afterFirewallChange(read, change) };
    // Positions are those of the present rules, and another writer may have changed them since.
    if (isRuleChange(change))
      return { ...after, ...(await readVmFirewallRules(this.#client, path, effect.signal)) };
    if (change.do === "set-options") return { ...after, optionsDigest: null };
    if (!("name" in change)) return after;
    const { [change.name]: _, ...ipsetDigests } = after.ipsetDigests;
    return { ...after, ipsetDigests };
  }

  guestInterfaces({ node, vmid }: Pick<Vm, "vmid" | "node">, signal?: AbortSignal) {
    return readGuestInterfaces(this.#client, { node, vmid }, signal);
  }

  async runInGuest(
    vmid: number,
    owner: Owner,
    command: GuestCommand,
    effect: EffectContext,
  ): Promise<GuestEnd | null> {
    // A lock is of the config and the disks: a backup that takes hours keeps nobody from a guest.
    const region = { client: this.#client, runtime: this.#runtime };
    const { node } = await requireOwnVm(region, vmid, owner, effect.signal, "even-locked");
    await effect.beforeCall();
    return runInGuest(this.#client, this.#runtime, { node, vmid }, command, callOptions(effect));
  }

  async lookInGuest(
    vmid: number,
    owner: Owner,
    command: GuestCommand,
    signal?: AbortSignal,
  ): Promise<GuestEnd | null> {
    const region = { client: this.#client, runtime: this.#runtime };
    const { node } = await requireOwnVm(region, vmid, owner, signal, "even-locked");
    return runInGuest(this.#client, this.#runtime, { node, vmid }, command, { signal });
  }

  async staleCloudInitKeys(
    { node, vmid }: Pick<Vm, "vmid" | "node">,
    signal?: AbortSignal,
  ): Promise<string[]> {
    const rows = await this.#client.call(
      "GET /nodes/{node}/qemu/{vmid}/cloudinit",
      { node, vmid },
      { signal },
    );
    return rows.flatMap(({ key, pending, delete: removal }) =>
      pending !== undefined || (readNumber(removal) ?? 0) > 0 ? [key] : [],
    );
  }

  async writeCloudInit(vmid: number, owner: Owner, effect: EffectContext): Promise<void> {
    const { node } = await this.#own(vmid, owner, effect);
    await effect.beforeCall();
    await this.#client.call("PUT /nodes/{node}/qemu/{vmid}/cloudinit", { node, vmid }, callOptions(effect));
  }

  async resizeDisk(
    vmid: number,
    owner: Owner,
    disk: string,
    bytes: number,
    effect: EffectContext,
  ): Promise<void> {
    const vm = await this.#own(vmid, owner, effect);
    const present =
      disksOf(vm.config).find((each) => each.key === disk)?.bytes ?? bootDiskOf(vm.config)?.bytes;
    if (present !== null && present !== undefined && present >= bytes) return;
    await effect.beforeCall();
    const upid = await this.#client.call(
      "PUT /nodes/{node}/qemu/{vmid}/resize",
      { node: vm.node, vmid, disk: disk as "scsi0", size: renderSize(bytes), digest: vm.digest },
      callOptions(effect),
    );
    await this.#started(upid, effect, RESIZE_TIMEOUT_SECONDS);
  }

  async start(vmid: number, owner: Owner, effect: EffectContext): Promise<void> {
    const { node } = await this.#own(vmid, owner, effect);
    await this.#power(vmid, "running", START_TIMEOUT_SECONDS, effect, always, () =>
      this.#client.call("POST /nodes/{node}/qemu/{vmid}/status/start", { node, vmid }, callOptions(effect)),
    );
  }

  async stop(
    vmid: number,
    owner: Owner,
    effect: EffectContext,
    process: string | null = null,
  ): Promise<void> {
    const { node } = await this.#own(vmid, owner, effect);
    const managed = await isHighlyAvailable(this.#client, { node, vmid }, effect.signal);
    const isStill = () => this.#isProcess(node, vmid, process, effect);
    await this.#power(vmid, "stopped", STOP_TIMEOUT_SECONDS, effect, isStill, () =>
      this.#client.call(
        "POST /nodes/{node}/qemu/{vmid}/status/stop",
        // Ends our own shutdown that still waits for the guest; the resource manager does not allow it.
        { node, vmid, ...(managed ? {} : { "overrule-shutdown": true }) },
        callOptions(effect),
      ),
    );
  }

  async shutdown(
    vmid: number,
    owner: Owner,
    how: { timeoutSeconds: number; force: boolean; process?: string | null },
    effect: EffectContext,
  ): Promise<void> {
    const { node } = await this.#own(vmid, owner, effect);
    const isStill = () => this.#isProcess(node, vmid, how.process ?? null, effect);
    await this.#power(vmid, "stopped", how.timeoutSeconds + STOP_TIMEOUT_SECONDS, effect, isStill, () =>
      this.#client.call(
        "POST /nodes/{node}/qemu/{vmid}/status/shutdown",
        { node, vmid, timeout: how.timeoutSeconds, forceStop: how.force },
        callOptions(effect),
      ),
    );
  }

  async lastReset({ vmid, node }: Pick<Vm, "vmid" | "node">, signal?: AbortSignal): Promise<string | null> {
    const tasks = await this.#client.call(
      "GET /nodes/{node}/tasks",
      { node, vmid, typefilter: "qmreset", source: "all", limit: RESETS_CHECKED },
      { signal },
    );
    return tasks.find(({ status }) => hasSucceeded(status))?.upid ?? null;
  }

  async reset(vmid: number, owner: Owner, after: string | null, effect: EffectContext): Promise<void> {
    const { node } = await this.#own(vmid, owner, effect);
    await effect.beforeCall();
    if ((await this.lastReset({ vmid, node }, effect.signal)) !== after) return;
    await effect.afterObservation();
    const upid = await this.#client.call(
      "POST /nodes/{node}/qemu/{vmid}/status/reset",
      { node, vmid },
      callOptions(effect),
    );
    await this.#started(upid, effect, STOP_TIMEOUT_SECONDS);
  }

  findForAdoption(vmid: number, owner: Owner, signal?: AbortSignal): Promise<AdoptionSighting> {
    return findAdoptionCandidate({ client: this.#client }, vmid, owner, signal);
  }

  async adopt(vmid: number, owner: Owner, marks: AdoptionMarks, effect: EffectContext): Promise<void> {
    const sighting = await findAdoptionCandidate({ client: this.#client }, vmid, owner, effect.signal);
    const { node, digest, isMarked, name, tags } = requireAdoptable(sighting, vmid);
    if (isMarked && name === marks.name && sameTags(tags, marks.tags)) return;
    await effect.beforeCall();
    const upid = await this.#client.call(
      "POST /nodes/{node}/qemu/{vmid}/config",
      {
        node,
        vmid,
        name: marks.name,
        description: marks.description,
        tags: renderTags(marks.tags),
        // A mark that is written in between changes the digest, and this call is refused.
        digest,
      },
      callOptions(effect),
    );
    await this.#started(upid, effect, CONFIGURE_TIMEOUT_SECONDS);
  }

  async unmark(
    vmid: number,
    owner: Owner,
    { description, tags }: Omit<AdoptionMarks, "name">,
    effect: EffectContext,
  ): Promise<void> {
    const sighting = await findAdoptionCandidate({ client: this.#client }, vmid, owner, effect.signal);
    const { node, digest, isMarked } = requireAdoptable(sighting, vmid);
    if (!isMarked) return;
    await effect.beforeCall();
    // An empty value would be refused: such keys are deleted.
    const set = { description, tags: renderTags(tags) };
    const upid = await this.#client.call(
      "POST /nodes/{node}/qemu/{vmid}/config",
      {
        node,
        vmid,
        ...Object.fromEntries(Object.entries(set).filter(([, value]) => value !== "")),
        ...(Object.values(set).includes("")
          ? {
              delete: Object.entries(set)
                .flatMap(([key, value]) => (value === "" ? [key] : []))
                .join(","),
            }
          : {}),
        digest,
      },
      callOptions(effect),
    );
    await this.#started(upid, effect, CONFIGURE_TIMEOUT_SECONDS);
  }

  async destroy(
    vmid: number,
    owner: Owner,
    effect: EffectContext,
    exceptMadeBy: string | null = null,
  ): Promise<void> {
    await this.#own(vmid, owner, effect);
    await effect.beforeCall();
    // As late as possible: a process that was suspended here may continue when another VM has been created
    // with the number.
    const { node, config } = await this.#own(vmid, owner, effect);
    if (parseMarker(config.description)?.jobId === exceptMadeBy) return;
    await effect.afterObservation();
    const upid = await this.#client.call(
      "DELETE /nodes/{node}/qemu/{vmid}",
      // Destroying unreferenced disks takes every volume that bears the VMID: safe only because ours are never reused.
      { node, vmid, purge: true, "destroy-unreferenced-disks": true },
      callOptions(effect),
    );
    await this.#started(upid, effect, DESTROY_TIMEOUT_SECONDS);
  }

  async setGuestPassword(
    vmid: number,
    owner: Owner,
    { name, password, crypted }: { name: string; password: string; crypted: boolean },
    effect: EffectContext,
  ): Promise<void> {
    const { node } = await this.#own(vmid, owner, effect);
    await effect.beforeCall();
    const answer = await this.#client.call(
      "POST /nodes/{node}/qemu/{vmid}/agent/set-user-password",
      { node, vmid, username: name, password, crypted },
      callOptions(effect),
    );
    throwAgentError(answer, vmid);
  }

  async guestHostName(
    { vmid, node }: Pick<Vm, "vmid" | "node">,
    signal?: AbortSignal,
  ): Promise<string | null> {
    try {
      return await readGuestName(this.#client, { node, vmid }, signal);
    } catch (error) {
      if (error instanceof ProxmoxAgentUnavailable || error instanceof ProxmoxForbidden) return null;
      throw error;
    }
  }

  async setGuestHostName(vmid: number, owner: Owner, name: string, effect: EffectContext): Promise<boolean> {
    const { node } = await this.#own(vmid, owner, effect);
    await effect.beforeCall();
    const argv = ["hostnamectl", "set-hostname", name];
    const guest = { node, vmid };
    try {
      return (
        (await runInGuest(this.#client, this.#runtime, guest, { argv }, callOptions(effect)))?.exitCode === 0
      );
    } catch (error) {
      if (error instanceof ProxmoxForbidden) return false;
      throw error;
    }
  }

  leftoverVolumes(vmid: number, signal?: AbortSignal): Promise<LeftoverVolume[]> {
    return findLeftoverVolumes(this.#client, vmid, signal);
  }

  async freeVolume(
    vmid: number,
    { node, storage, volume }: LeftoverVolume,
    effect: EffectContext,
  ): Promise<void> {
    if (!new RegExp(`\\bvm-${vmid}-`).test(volume))
      throw new TypeError(`${volume} does not belong to VM ${vmid}`);
    await effect.beforeCall();
    const upid = await this.#client.call(
      "DELETE /nodes/{node}/storage/{storage}/content/{volume}",
      { node, storage, volume },
      callOptions(effect),
    );
    await this.#started(upid, effect, DESTROY_TIMEOUT_SECONDS);
  }

  activeTasks(signal?: AbortSignal): Promise<RunningTask[]> {
    return observeActiveTasks(this.#client, signal);
  }

  #own(vmid: number, owner: Owner, effect: EffectContext): Promise<OwnVm> {
    return requireOwnVm({ client: this.#client, runtime: this.#runtime }, vmid, owner, effect.signal);
  }

  /** True when the guest still runs in the given process, or none was given. */
  async #isProcess(
    node: string,
    vmid: number,
    process: string | null,
    { signal }: EffectContext,
  ): Promise<boolean> {
    if (process === null) return true;
    // It has moved since it was observed, and its process with it: only another observation can show whether
    // it is still the same one.
    if (!process.startsWith(`${node}:`))
      throw new ProxmoxConflict({
        call: `look before changing the power of VM ${vmid}`,
        status: null,
        text: `it is on ${node} now, and was meant as ${process}`,
        outcome: "retryable",
        fix: null,
      });
    const path = { node, vmid };
    const status = await this.#client.call("GET /nodes/{node}/qemu/{vmid}/status/current", path, { signal });
    return processOf(node, status) === process;
  }

  async #power(
    vmid: number,
    wanted: "running" | "stopped",
    timeoutSeconds: number,
    effect: EffectContext,
    isDue: () => Promise<boolean>,
    send: () => Promise<string>,
  ): Promise<void> {
    await effect.beforeCall();
    // As late as possible: a process that was suspended here may continue when the guest was started again
    // long ago.
    if (!(await isDue())) return;
    await effect.afterObservation();
    try {
      const upid = await send();
      await this.#started(upid, effect, timeoutSeconds);
      if (/:ha(start|stop):/.test(upid))
        await waitForPower({ client: this.#client, runtime: this.#runtime }, vmid, wanted, effect);
    } catch (error) {
      // "already running" is the wish fulfilled.
      if (!(error instanceof ProxmoxAlready)) throw error;
    }
  }

  /** Some calls answer null instead of a UPID when there was nothing to start. */
  async #started(upid: string | null, effect: EffectContext, timeoutSeconds: number): Promise<void> {
    if (typeof upid !== "string" || upid === "") return;
    await effect.taskStarted(upid);
    await this.#wait(upid, effect, timeoutSeconds);
  }

  async #wait(upid: string, effect: EffectContext, timeoutSeconds: number): Promise<void> {
    const { warnings } = await waitForTask(this.#client, upid, {
      runtime: this.#runtime,
      deadlineMilliseconds: timeoutSeconds * 1000,
      signal: effect.signal,
      stillRunning: (milliseconds) => effect.stillRunning(milliseconds),
    });
    if (warnings !== null) effect.note(warnings);
  }
}

/** Simple commands answer 200 although the guest refused; the refusal is in the result. */
function throwAgentError(answer: unknown, vmid: number): void {
  const { error } = asRecord(resultOf(answer));
  if (error === undefined) return;
  throw new ProxmoxAgentUnavailable({
    call: `guest agent of VM ${vmid}`,
    status: 200,
    text: asText(asRecord(error).desc, 1_000) ?? "refused",
    outcome: "retryable",
    fix: null,
  });
}

const always = async () => true;

function callOptions(effect: EffectContext): CallOptions & { answered: () => Promise<void> } {
  return { signal: effect.signal, answered: () => effect.answered() };
}
