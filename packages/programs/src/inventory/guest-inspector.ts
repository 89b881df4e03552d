// Queries guests repeatedly without burdening those that cannot answer: facts that stay the same for a boot
// are read once a boot, and a guest that did not answer is queried less and less often.

import type { Schemas } from "@kule/contract/schemas";
import type { ProxmoxClient } from "@kule/proxmox/client";
import { ProxmoxAgentUnavailable } from "@kule/proxmox/errors";
import {
  type CloudInitState,
  type GuestSystem,
  guestAddresses,
  guestCloudInit,
  guestSystem,
} from "@kule/proxmox/guest-scan";
import type { Runtime, Timers } from "@kule/proxmox/runtime";
import type { SeenFirewall } from "@kule/proxmox/vm-firewall";
import type { ScannedVm, VmPath } from "@kule/proxmox/vm-scan";

export type Inside = NonNullable<Schemas["InventoryVm"]["guest"]>;

/** For all queries of one guest in one scan, together. */
const GUEST_MILLISECONDS = 10_000;
/** Each call first waits three seconds for an agent that does not answer. */
const CALL_MILLISECONDS = 6_000;
/** A guest that boots is queried each time; after this many scans without an answer less and less often. */
const SCANS_WHILE_BOOTING = 10;
const LONGEST_REST = 20;

type Memory = {
  pid: number | null;
  system: GuestSystem | null;
  cloudInit: CloudInitState;
  /** Scans in a row without an answer. */
  failures: number;
  /** How many scans will skip it. */
  rest: number;
  firewall: SeenFirewall | null;
};

export class GuestInspector {
  readonly #client: ProxmoxClient;
  readonly #runtime: Runtime & Timers;
  readonly #memories = new Map<number, Memory>();

  constructor(client: ProxmoxClient, runtime: Runtime & Timers) {
    this.#client = client;
    this.#runtime = runtime;
  }

  /** Drops what is known of guests that no longer exist. */
  keepOnly(vmids: readonly number[]): void {
    const there = new Set(vmids);
    for (const vmid of this.#memories.keys()) if (!there.has(vmid)) this.#memories.delete(vmid);
  }

  rememberFirewall(vmid: number, firewall: SeenFirewall): SeenFirewall {
    this.#memoryOf(vmid).firewall = firewall;
    return firewall;
  }

  lastFirewall(vmid: number): SeenFirewall | null {
    return this.#memoryOf(vmid).firewall;
  }

  /** Never throws: a guest that does not answer is a guest whose agent does not. */
  async lookInside(path: VmPath, vm: ScannedVm): Promise<Inside> {
    const memory = this.#memoryOf(path.vmid);
    if (memory.pid !== vm.pid)
      Object.assign(memory, { pid: vm.pid, system: null, cloudInit: "unknown", failures: 0, rest: 0 });
    if (vm.power === "off" || !vm.agentEnabled) return { agent: false, agent_asked: true };
    if (memory.rest > 0) {
      memory.rest -= 1;
      return { agent: false, agent_asked: false };
    }
    const limit = new AbortController();
    const cancel = this.#runtime.after(GUEST_MILLISECONDS, () =>
      limit.abort(new DOMException("the guest took too long", "TimeoutError")),
    );
    try {
      const inside = await this.#ask(path, memory, {
        deadlineMilliseconds: CALL_MILLISECONDS,
        signal: limit.signal,
      });
      memory.failures = 0;
      return inside;
    } catch (error) {
      this.#noteFailure(memory, error);
      return { agent: false, agent_asked: true };
    } finally {
      cancel();
    }
  }

  async #ask(
    path: VmPath,
    memory: Memory,
    limits: { deadlineMilliseconds: number; signal: AbortSignal },
  ): Promise<Inside> {
    const addresses = await guestAddresses(this.#client, path, limits);
    memory.system ??= await guestSystem(this.#client, path, limits);
    // Only what may still change is read again, because it takes a process inside the guest.
    if (memory.cloudInit === "unknown" || memory.cloudInit === "running")
      memory.cloudInit = await this.#cloudInit(path, limits);
    return { agent: true, agent_asked: true, addresses, ...memory.system, cloud_init: memory.cloudInit };
  }

  /** An agent that answers but may not run commands is an answer all the same. */
  async #cloudInit(
    path: VmPath,
    limits: { deadlineMilliseconds: number; signal: AbortSignal },
  ): Promise<CloudInitState> {
    try {
      return await guestCloudInit(this.#client, this.#runtime, path, limits);
    } catch {
      limits.signal.throwIfAborted();
      return "unknown";
    }
  }

  /** One that hung is left alone at once; one without an agent yet is booting, probably. */
  #noteFailure(memory: Memory, error: unknown): void {
    memory.failures += 1;
    const isBooting = error instanceof ProxmoxAgentUnavailable && memory.failures <= SCANS_WHILE_BOOTING;
    memory.rest = isBooting ? 0 : Math.min(LONGEST_REST, 2 ** Math.min(memory.failures, 5));
  }

  #memoryOf(vmid: number): Memory {
    const known = this.#memories.get(vmid);
    if (known !== undefined) return known;
    const fresh: Memory = {
      pid: null,
      system: null,
      cloudInit: "unknown",
      failures: 0,
      rest: 0,
      firewall: null,
    };
    this.#memories.set(vmid, fresh);
    return fresh;
  }
}
