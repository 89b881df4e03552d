import type { VmDocument } from "../documents.ts";

/** The VM on another node: what runs goes on there in a process of its own, and its guest notices nothing. */
export function movedTo(node: string, vm: VmDocument): VmDocument {
  // The next number and none that is drawn: what a seed draws must not hang on who moved before.
  const process = vm.process === null ? null : { ...vm.process, pid: vm.process.pid + 1 };
  return { ...vm, node, process };
}
