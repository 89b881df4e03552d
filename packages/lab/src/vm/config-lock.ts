import { failure } from "../api-error.ts";
import type { VmDocument } from "../documents.ts";
import type { Region } from "../region.ts";

const lockFile = (vmid: number): string => `/var/lock/qemu-server/lock-${vmid}.conf`;

/** Holds the VM's file lock on its node. Real time: 10 s for a config change, 1 s for a clone's source and target. */
export async function withVmLock<T>(
  region: Region,
  node: string,
  vmid: number,
  work: () => Promise<T>,
  {
    mode = "exclusive",
    timeoutSeconds = 10,
  }: { mode?: "shared" | "exclusive"; timeoutSeconds?: number } = {},
): Promise<T> {
  const file = lockFile(vmid);
  return await region.locks.hold(
    `${node}:${file}`,
    mode,
    timeoutSeconds,
    `can't lock file '${file}' - got timeout`,
    work,
  );
}

/** The `lock` property: survives a crash, and no token can remove it. */
export function requireNoConfigLock(vm: VmDocument): void {
  const lock = vm.temporary ? "clone" : vm.config.lock;
  if (lock !== undefined) throw failure(`VM is locked (${lock})`);
}

export function requireNoProtection(vm: VmDocument, what: string): void {
  if (vm.config.protection === "1") throw failure(`${what} - protection mode enabled`);
}
