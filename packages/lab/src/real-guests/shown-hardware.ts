import { readFileSync } from "node:fs";

/*
 * A guest in namespaces would see the machine's memory and processors. These are the files that it sees in
 * their place. They are generated, as lxcfs does it: what asks the kernel by another way (sysinfo) sees the
 * machine.
 */

export type MemoryUse = { readonly usedBytes: number; readonly cacheBytes: number };

const KIB = 1024;
/** Values have the same width always, so that a reader never sees half of a new one. */
const line = (name: string, kib: number): string =>
  `${`${name}:`.padEnd(16)}${String(Math.max(0, Math.round(kib))).padStart(10)} kB\n`;

/** /proc/meminfo of a machine with this memory. */
export function meminfo(memoryMb: number, use: MemoryUse | null): string {
  const total = memoryMb * KIB;
  const used = Math.min(total, (use?.usedBytes ?? 0) / KIB);
  const cache = Math.min(used, (use?.cacheBytes ?? 0) / KIB);
  const free = total - used;
  return [
    line("MemTotal", total),
    line("MemFree", free),
    line("MemAvailable", free + cache),
    line("Buffers", 0),
    line("Cached", cache),
    line("SwapCached", 0),
    line("Active", used / 2),
    line("Inactive", used / 2),
    line("SwapTotal", 0),
    line("SwapFree", 0),
    line("Shmem", 0),
    line("Slab", 0),
    line("SReclaimable", 0),
  ].join("");
}

/** /proc/cpuinfo with as many processors as were sold, or as there are. */
export function cpuinfo(cores: number, all = readFileSync("/proc/cpuinfo", "utf8")): string {
  return all
    .split(/\n\n+/)
    .filter((part) => /^processor\s*:/m.test(part))
    .slice(0, Math.max(1, cores))
    .map((part) => `${part}\n\n`)
    .join("");
}
