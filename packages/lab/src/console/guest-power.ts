import type { VmDocument } from "../documents.ts";
import type { Region } from "../region.ts";
import { applyPendingCold } from "../vm/apply-pending.ts";
import { draftChanges, openDraft } from "../vm/config-draft.ts";
import { bootGuest } from "../vm/guest-network.ts";

/** The guest switches itself off: QEMU ends, and what waited for a cold start is applied. */
export function powerOffFromInside(region: Region, vmid: number): void {
  const vm = region.store.get("vm", String(vmid));
  if (vm === undefined || vm.process === null) return;
  const draft = openDraft({ ...vm, process: null });
  applyPendingCold(region, draft);
  region.store.commit(
    { op: "vm-stopped", node: vm.node, vmid, detail: { how: "guest" } },
    draftChanges(draft),
  );
}

/**
 * The guest restarts itself: the same QEMU continues, so no pending change is applied. It reads its drive as
 * it is.
 */
export function restartFromInside(region: Region, vmid: number): void {
  const vm = region.store.get("vm", String(vmid));
  if (vm === undefined || vm.process === null) return;
  const process = { ...vm.process, guestBootAt: region.runtime.nowMs() };
  const next: VmDocument = bootGuest({ ...vm, process });
  region.store.commit({ op: "guest-rebooted", node: vm.node, vmid }, [["vm", String(vmid), next]]);
}
