import type { NodeDocument } from "./documents.ts";
import type { Region } from "./region.ts";

const GIB = 1024 ** 3;
/** The system of a node itself. */
const OWN_MEMORY_BYTES = 3 * GIB;
/** The share of its memory that a running guest uses. */
const USED_SHARE = 0.35;

/** A node's used memory: its own, and what its running guests have touched. */
export function usedMemoryOf(region: Region, { name, memoryBytes }: NodeDocument): number {
  const guests = region.store
    .all("vm")
    .filter((vm) => vm.node === name && vm.process !== null)
    .reduce((sum, vm) => sum + Number(vm.config.memory ?? 512) * 1024 * 1024 * USED_SHARE, 0);
  return Math.round(Math.min(memoryBytes, OWN_MEMORY_BYTES + guests));
}
