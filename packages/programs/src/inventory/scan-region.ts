// One scan of everything that Kule has in a region: the list of everything, then each guest that is or looks
// like one of Kule's. Each has a time limit, so that one that hangs delays only itself.

import type { Schemas } from "@kule/contract/schemas";
import type { ProxmoxClient } from "@kule/proxmox/client";
import { ConcurrencyLimit } from "@kule/proxmox/concurrency-limit";
import { isFreeVmid, type ListedGuest, listRegion, type RegionList } from "@kule/proxmox/region-guests";
import type { Runtime, Timers } from "@kule/proxmox/runtime";
import { scanFirewall, scanVm } from "@kule/proxmox/vm-scan";
import { seenFilter } from "../firewalls/seen-filter.ts";
import { capacityOf, type PlacementSettings } from "./capacity.ts";
import type { GuestInspector } from "./guest-inspector.ts";

export type SeenGuest = Schemas["InventoryVm"];
export type FreeNumber = { readonly vmid: number; readonly seen_after_ms: number };
export type ScanEnd = Schemas["InventoryEnd"];

export type ScanSettings = PlacementSettings & {
  readonly vmidRange: { readonly first: number; readonly last: number };
  readonly poolPrefix: string;
};

export type ScanDependencies = {
  readonly client: ProxmoxClient;
  readonly runtime: Runtime & Timers;
  readonly settings: ScanSettings;
  readonly inspector: GuestInspector;
  readonly signal: AbortSignal;
};

const LIST_MILLISECONDS = 10_000;
const VM_MILLISECONDS = 8_000;
const AT_A_TIME = 4;
/** With more guests than this, a firewall is read in each fifth scan only. */
const MANY_GUESTS = 200;

/** Everything that a scan reports, piece by piece, in the order in which it is found. */
export type ScanPart =
  | { readonly vms: readonly SeenGuest[] }
  | { readonly absent: readonly FreeNumber[] }
  | { readonly hidden: readonly FreeNumber[] }
  | { readonly end: ScanEnd };

/**
 * Scans once. Throws only for the signal: a region that cannot be listed is an incomplete scan.
 *
 * @param pass its number, which spreads what is not read each time
 * @param lookFor numbers that should exist: those that are not listed are queried one by one
 */
export async function* scanRegion(
  dependencies: ScanDependencies,
  pass: number,
  lookFor: readonly number[],
  batchSize: number,
): AsyncGenerator<ScanPart> {
  const { client, runtime, settings, signal } = dependencies;
  const startedAt = runtime.monotonic();
  const elapsed = () => Math.max(0, Math.floor(runtime.monotonic() - startedAt));
  const limits = { deadlineMilliseconds: LIST_MILLISECONDS, signal };
  let list: RegionList;
  try {
    list = await listRegion(client, limits);
  } catch (error) {
    signal.throwIfAborted();
    yield { end: { complete: false, trouble: textOf(error) } };
    return;
  }
  const silent = list.nodes.filter(({ online }) => !online).map(({ name }) => name);
  const ours = list.guests.filter((guest) => isOurs(guest, settings));
  dependencies.inspector.keepOnly(ours.map(({ vmid }) => vmid));
  let unanswered = 0;
  for (let at = 0; at < ours.length; at += batchSize) {
    const limit = new ConcurrencyLimit(AT_A_TIME);
    const vms = await Promise.all(
      ours.slice(at, at + batchSize).map((guest) =>
        limit.run("vm", () =>
          lookAtGuest(dependencies, guest, {
            seenAfterMs: elapsed,
            isSilent: silent.includes(guest.node),
            withFirewall: ours.length <= MANY_GUESTS || guest.vmid % 5 === pass % 5,
          }),
        ),
      ),
    );
    unanswered += vms.filter(({ state }) => state === "unanswered").length;
    yield { vms };
  }
  const listed = new Set(list.guests.map(({ vmid }) => vmid));
  const absent: FreeNumber[] = [];
  const hidden: FreeNumber[] = [];
  let asked = true;
  for (const vmid of lookFor) {
    if (listed.has(vmid)) continue;
    const seen_after_ms = elapsed();
    try {
      const isFree = await isFreeVmid(client, vmid, limits);
      (isFree ? absent : hidden).push({ vmid, seen_after_ms });
    } catch {
      signal.throwIfAborted();
      asked = false;
    }
  }
  for (let at = 0; at < absent.length; at += batchSize) yield { absent: absent.slice(at, at + batchSize) };
  for (let at = 0; at < hidden.length; at += batchSize) yield { hidden: hidden.slice(at, at + batchSize) };
  const troubles = [
    ...(silent.length > 0 ? [`offline: ${silent.join(", ")}`] : []),
    ...(unanswered > 0 ? [`${unanswered} guests could not be looked at`] : []),
    ...(asked ? [] : ["not every VM number could be asked for"]),
  ];
  yield {
    end: {
      complete: troubles.length === 0,
      trouble: troubles.length === 0 ? null : troubles.join("; "),
      ...capacityOf(list, settings),
    },
  };
}

/** By its number, its tags or its pool: whatever was removed from it, one of them may be left. */
function isOurs({ vmid, tags, pool }: ListedGuest, { vmidRange, poolPrefix }: ScanSettings): boolean {
  return (
    (vmid >= vmidRange.first && vmid <= vmidRange.last) ||
    tags.includes("kule") ||
    (pool?.startsWith(`${poolPrefix}-org_`) ?? false)
  );
}

type How = {
  readonly seenAfterMs: () => number;
  readonly isSilent: boolean;
  readonly withFirewall: boolean;
};

async function lookAtGuest(
  { client, inspector, signal }: ScanDependencies,
  guest: ListedGuest,
  { seenAfterMs, isSilent, withFirewall }: How,
): Promise<SeenGuest> {
  const { vmid, node, type } = guest;
  const base = { vmid, node, type, seen_after_ms: seenAfterMs() };
  if (isSilent) return { ...base, state: "unanswered" };
  if (type === "lxc") return { ...base, state: "seen", power: guest.running ? "on" : "off", name: null };
  const path = { node, vmid };
  const limits = { deadlineMilliseconds: VM_MILLISECONDS, signal };
  try {
    const vm = await scanVm(client, path, limits);
    const firewall = withFirewall
      ? inspector.rememberFirewall(vmid, await scanFirewall(client, path, limits))
      : inspector.lastFirewall(vmid);
    const inside = vm.state === "seen" ? await inspector.lookInside(path, vm) : { agent: false };
    return {
      ...base,
      state: vm.state,
      power: vm.power,
      name: fitted(vm.name, 300),
      template: vm.template,
      marker:
        vm.marker === null
          ? null
          : {
              server_id: vm.marker.serverId.slice(0, 200),
              organisation_id: vm.marker.organisationId.slice(0, 200),
              region: vm.marker.region.slice(0, 200),
            },
      tags: vm.tags.slice(0, 100).map((tag) => tag.slice(0, 200)),
      lock: fitted(vm.lock, 60),
      vcpu: vm.vcpu,
      memory_mb: vm.memoryMb,
      disk_bytes: vm.diskBytes,
      interfaces: vm.interfaces.flatMap(({ linkDown, rate, trunks, addresses, ...each }) =>
        each.position < 32
          ? [
              {
                ...each,
                link_down: linkDown,
                rate: fitted(rate, 60),
                trunks: fitted(trunks, 200),
                addresses: addresses.map((address) => address.slice(0, 60)),
              },
            ]
          : [],
      ),
      pool: fitted(guest.pool, 100),
      ...(firewall === null
        ? {}
        : {
            firewall: {
              enable: firewall.options.enable,
              macfilter: firewall.options.macfilter,
              ipfilter: firewall.options.ipfilter,
              ...seenFilter(firewall),
              ipsets: Object.entries(firewall.ipsets)
                .filter(([name]) => name.startsWith("ipfilter-net"))
                .slice(0, 100)
                .map(([name, addresses]) => ({ name, addresses: addresses.slice(0, 200) })),
            },
          }),
      guest: { ...inside, uptime_seconds: vm.uptimeSeconds },
    };
  } catch {
    signal.throwIfAborted();
    // It may just have been moved, or deleted: the next scan shows it.
    return { ...base, state: "unanswered" };
  }
}

const fitted = (text: string | null, characters: number): string | null =>
  text === null ? null : text.replaceAll("\0", "").slice(0, characters).toWellFormed();

function textOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 1000).toWellFormed();
}
