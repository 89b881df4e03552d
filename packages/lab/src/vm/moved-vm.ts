import type { VmDocument } from "../documents.ts";

/** The VM on another node: a running one continues there in a process of its own, invisibly to its guest. */
export function movedTo(node: string, vm: VmDocument): VmDocument {
  // The next number and no random one: a seed's random numbers must not depend on earlier moves.
  const process = vm.process === null ? null : { ...vm.process, pid: vm.process.pid + 1 };
  return { ...vm, node, process };
}
