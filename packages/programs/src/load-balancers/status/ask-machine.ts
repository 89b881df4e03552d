import type { GuestCommand } from "@kule/proxmox/guest-agent";
import type { Hypervisor, Owner } from "@kule/proxmox/hypervisor";
import { type LoadBalancerStatus, type OwnServers, readStatus } from "./read-status.ts";

const STATUS: GuestCommand = { argv: ["/usr/local/sbin/kule-lb", "status"] };

/** What the machine says of itself; null when it does not answer, or no status. Throws a ProxmoxError. */
export async function askMachine(
  hypervisor: Pick<Hypervisor, "lookInGuest">,
  { vmid, owner }: { readonly vmid: number; readonly owner: Owner },
  ours: OwnServers,
  signal?: AbortSignal,
): Promise<LoadBalancerStatus | null> {
  const end = await hypervisor.lookInGuest(vmid, owner, STATUS, signal);
  return end === null || end.exitCode !== 0 ? null : readStatus(end.output, ours);
}
