// One look at all that Kule has in a region: the list of everything, then each guest that is or looks like one of
// Kule's. Bounded for each of them, so that one that hangs costs its own word and nobody else's.

import type { Schemas } from "@kule/contract/schemas";
import type { ProxmoxClient } from "@kule/proxmox/client";
import { ConcurrencyLimit } from "@kule/proxmox/concurrency-limit";
import { isFreeVmid, type ListedGuest, listRegion, type RegionList } from "@kule/proxmox/region-guests";
import type { Runtime, Timers } from "@kule/proxmox/runtime";
import { lookAtFirewall, lookAtVm } from "@kule/proxmox/vm-look";
import { seenFilter } from "../firewalls/seen-filter.ts";
import { capacityOf, type PlacementSettings } from "./capacity.ts";
import type { GuestEyes } from "./guest-eyes.ts";

export type SeenGuest = Schemas["InventoryVm"];
export type FreeNumber = { readonly vmid: number; readonly seen_after_ms: number };
export type EndOfLook = Schemas["InventoryEnd"];

export type LookSettings = PlacementSettings & {
  readonly vmidRange: { readonly first: number; readonly last: number };
  readonly poolPrefix: string;
};

export type LookDependencies = {
  readonly client: ProxmoxClient;
  readonly runtime: Runtime & Timers;
  readonly settings: LookSettings;
  readonly eyes: GuestEyes;
  readonly signal: AbortSignal;
};

const LIST_MILLISECONDS = 10_000;
const VM_MILLISECONDS = 8_000;
const AT_A_TIME = 4;
/** So many guests more, and a firewall is looked at in each fifth pass only. */
const MANY_GUESTS = 200;

/** Everything a pass tells, piece by piece, in the order in which it is found. */
export type LookPiece =
  | { readonly vms: readonly SeenGuest[] }
  | { readonly absent: readonly FreeNumber[] }
  | { readonly hidden: readonly FreeNumber[] }
  | { readonly end: EndOfLook };

/**
 * Looks once. Never throws but for the signal: a region that cannot be listed is a look that is not whole.
 *
 * @param pass its number, which spreads what is not looked at each time
 * @param lookFor numbers that should be there: those that are not listed are asked for one by one
 */
export async function* lookAtRegion(
  dependencies: LookDependencies,
  pass: number,
  lookFor: readonly number[],
  batchSize: number,
): AsyncGenerator<LookPiece> {
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
  dependencies.eyes.forgetAllBut(ours.map(({ vmid }) => vmid));
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

/** By its number, its tags or its pool: whatever was taken away from it, one of them may be left. */
function isOurs({ vmid, tags, pool }: ListedGuest, { vmidRange, poolPrefix }: LookSettings): boolean {
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
  { client, eyes, signal }: LookDependencies,
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
    const vm = await lookAtVm(client, path, limits);
    const firewall = withFirewall
      ? eyes.rememberFirewall(vmid, await lookAtFirewall(client, path, limits))
      : eyes.lastFirewall(vmid);
    const inside = vm.state === "seen" ? await eyes.lookInside(path, vm) : { agent: false };
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
      interfaces: vm.interfaces.flatMap(({ linkDown, rate, trunks, ...each }) =>
        each.position < 32
          ? [{ ...each, link_down: linkDown, rate: fitted(rate, 60), trunks: fitted(trunks, 200) }]
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
    // It may just have moved, or gone: the next look tells.
    return { ...base, state: "unanswered" };
  }
}

const fitted = (text: string | null, characters: number): string | null =>
  text === null ? null : text.replaceAll("\0", "").slice(0, characters).toWellFormed();

function textOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 1000).toWellFormed();
}
