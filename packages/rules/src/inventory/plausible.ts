import type { NodeCapacity, StorageCapacity } from "./capacity.ts";

// What machines can have, with room to spare: a kernel of the hypervisor knows 8192 CPUs.
const maxCpus = 8_192;
const maxMemoryMb = 64 * 2 ** 20;
const maxStorageGb = 4 * 2 ** 20;

/** What of a node's figures cannot be, or null. A node that uses more memory than it has is no measurement either. */
export function implausibleNode({ name, cpus, memoryMb, memoryUsedMb }: NodeCapacity): string | null {
  if (cpus > maxCpus) return `node ${name} reports ${cpus} CPUs`;
  if (memoryMb > maxMemoryMb) return `node ${name} reports ${memoryMb} MB of memory`;
  if (memoryUsedMb > memoryMb) return `node ${name} reports ${memoryUsedMb} of ${memoryMb} MB of memory used`;
  return null;
}

/** What of a storage's figures cannot be, or null. */
export function implausibleStorage({ name, totalGb, usedGb }: StorageCapacity): string | null {
  if (totalGb > maxStorageGb) return `storage ${name} reports ${totalGb} GB`;
  // Both were rounded, away from each other.
  if (usedGb > totalGb + 1) return `storage ${name} reports ${usedGb} of ${totalGb} GB used`;
  return null;
}

/** No machine runs for longer. */
const maxUptimeSeconds = 20 * 366 * 86_400;

/** For how long a guest has run, as the region says; null when it says nothing, or what cannot be. */
export function plausibleUptime(seconds: number | null): number | null {
  return seconds === null || seconds > maxUptimeSeconds ? null : seconds;
}
