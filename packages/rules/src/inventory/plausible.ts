import type { NodeCapacity, StorageCapacity } from "./capacity.ts";

// The limits of real machines, with a margin: a kernel of the hypervisor supports 8192 CPUs.
const maxCpus = 8_192;
const maxMemoryMb = 64 * 2 ** 20;
const maxStorageGb = 4 * 2 ** 20;

/**
 * Which of a node's figures are impossible, or null. A node that uses more memory than it has is no
 * measurement either.
 */
export function implausibleNode({ name, cpus, memoryMb, memoryUsedMb }: NodeCapacity): string | null {
  if (cpus > maxCpus) return `node ${name} reports ${cpus} CPUs`;
  if (memoryMb > maxMemoryMb) return `node ${name} reports ${memoryMb} MB of memory`;
  if (memoryUsedMb > memoryMb) return `node ${name} reports ${memoryUsedMb} of ${memoryMb} MB of memory used`;
  return null;
}

/** Which of a storage's figures are impossible, or null. */
export function implausibleStorage({ name, totalGb, usedGb }: StorageCapacity): string | null {
  if (totalGb > maxStorageGb) return `storage ${name} reports ${totalGb} GB`;
  // Both were rounded, away from each other.
  if (usedGb > totalGb + 1) return `storage ${name} reports ${usedGb} of ${totalGb} GB used`;
  return null;
}

/** No machine runs for longer. */
const maxUptimeSeconds = 20 * 366 * 86_400;

/** How long a guest has run, by the region's report; null when there is none, or an impossible one. */
export function plausibleUptime(seconds: number | null): number | null {
  return seconds === null || seconds > maxUptimeSeconds ? null : seconds;
}
