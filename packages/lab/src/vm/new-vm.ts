import type { VmDocument } from "../documents.ts";
import type { Region } from "../region.ts";
import { randomUuid } from "../runtime.ts";

/** The file a clone begins with: a comment and a lock. */
export function temporaryVm(node: string, vmid: number): VmDocument {
  return {
    vmid,
    node,
    temporary: true,
    config: { lock: "clone" },
    pending: {},
    pendingDelete: {},
    cloudInitChanges: {},
    process: null,
    drive: null,
    guest: { bootedInstanceId: null, firstBoots: 0, passwords: {} },
  };
}

/** A stopped VM with this config and nothing else. */
export function bareVm(
  region: Region,
  node: string,
  vmid: number,
  config: Record<string, string>,
): VmDocument {
  return {
    ...temporaryVm(node, vmid),
    temporary: false,
    config: { smbios1: `uuid=${randomUuid(region.runtime)}`, ...config },
  };
}
