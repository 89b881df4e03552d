import type { VmDocument } from "../documents.ts";
import type { Region } from "../region.ts";
import { isWindows } from "../vm/cloud-init.ts";
import { DesktopGuest } from "./desktop-guest.ts";
import { SerialGuest } from "./serial-guest.ts";
import type { SerialPort } from "./serial-port.ts";

/** The guest systems that were viewed, by the QEMU process they run in. */
interface Guest {
  readonly pid: number;
  bootAt: number;
  readonly serial: SerialPort | null;
  readonly desktop: DesktopGuest;
  /** Called when QEMU ends. */
  readonly onEnd: Set<() => void>;
}

const byRegion = new WeakMap<Region, Map<number, Guest>>();

/** A guest that was never viewed counts as up this long after its boot. */
const BOOTED_SECONDS = 30;

/** Follows the machines of the guests: power off, reset, another process. */
function guestsOf(region: Region): Map<number, Guest> {
  const known = byRegion.get(region);
  if (known !== undefined) return known;
  const guests = new Map<number, Guest>();
  byRegion.set(region, guests);
  region.store.onCommit((changes) => {
    for (const [collection, id, document] of changes) {
      if (collection !== "vm") continue;
      const guest = guests.get(Number(id));
      if (guest !== undefined) follow(guests, guest, Number(id), document as VmDocument | null);
    }
  });
  return guests;
}

function follow(guests: Map<number, Guest>, guest: Guest, vmid: number, vm: VmDocument | null): void {
  const process = vm?.process ?? null;
  if (process === null || process.pid !== guest.pid) {
    guests.delete(vmid);
    guest.serial?.end();
    guest.desktop.end();
    for (const listener of guest.onEnd) listener();
  } else if (process.guestBootAt !== guest.bootAt) {
    guest.bootAt = process.guestBootAt;
    void guest.serial?.boot();
    void guest.desktop.boot();
  }
}

/** The guest in a running VM; undefined when it does not run. */
export function guestOf(region: Region, vmid: number): Guest | undefined {
  const guests = guestsOf(region);
  const found = guests.get(vmid);
  if (found !== undefined) return found;
  const vm = region.store.get("vm", String(vmid));
  if (vm?.process == null) return undefined;
  const { pid, guestBootAt } = vm.process;
  const isReal = region.realGuests?.isReal(vm) === true;
  const real = region.realGuests?.machine(vmid);
  // It is on, and its serial line is not there yet.
  if (isReal && real === undefined) return undefined;
  const age = (region.runtime.nowMs() - guestBootAt) / 1000;
  const hasBooted = age > BOOTED_SECONDS * region.runtime.timeScale;
  const guest: Guest = {
    pid,
    bootAt: guestBootAt,
    serial: isWindows(vm.config) ? null : (real?.serial ?? new SerialGuest(region, vmid, hasBooted)),
    desktop: new DesktopGuest(region, vmid, hasBooted),
    onEnd: new Set(),
  };
  guests.set(vmid, guest);
  return guest;
}
