import { askMachine } from "@kule/programs/load-balancers/status/ask-machine";
import { reportedStatus } from "@kule/programs/load-balancers/status/reported-status";
import { ProxmoxError, ProxmoxNotFound, ProxmoxNotOurs } from "@kule/proxmox/errors";
import type { Hypervisor } from "@kule/proxmox/hypervisor";
import type { MachineAnswer, MachineToAsk } from "./load-balancer-loop.ts";

/** Asks a machine of this region through its guest agent. Throws only for the signal. */
export function machineAsker(
  hypervisor: Pick<Hypervisor, "lookInGuest">,
  region: string,
): (machine: MachineToAsk, signal: AbortSignal) => Promise<MachineAnswer> {
  return async (machine, signal) => {
    const guest = { vmid: machine.vmid, owner: { serverId: machine.server_id, region } };
    const servers = new Set(machine.servers);
    const ours = new Map(machine.listener_ids.map((id) => [id, servers] as const));
    try {
      const status = await askMachine(hypervisor, guest, ours, signal);
      return status === null ? "silent" : reportedStatus(status);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ProxmoxError)) throw error;
      return isOfMachine(error) ? "silent" : "not asked";
    }
  };
}

/** An answer of the cluster about this VM or its node, and not that the cluster could not be asked, or not by this token. */
function isOfMachine(error: ProxmoxError): boolean {
  if (error instanceof ProxmoxNotFound || error instanceof ProxmoxNotOurs) return true;
  const { status } = error.facts;
  return status !== null && status >= 500;
}
