// What no program can correct, in the words of the job's error.

import type { PayloadOf, ServerJobKind } from "@kule/contract/schemas";
import type { LeftoverVolume, Vm } from "@kule/proxmox/hypervisor";
import { Failed } from "../errors.ts";

/** A clone died and left its lock. The VMID stays unusable until an operator has cleaned up. */
export function quarantined(vmid: number, node: string): Failed {
  return new Failed(
    {
      code: "vmid_quarantined",
      message: "The region left a half-made virtual machine behind. An operator has to remove it.",
      internal: `VM ${vmid} on ${node} is locked by a clone that no longer runs; an API token cannot clear that. On ${node}: qm unlock ${vmid} && qm destroy ${vmid} --purge`,
    },
    { vmidUnusable: "quarantined" },
  );
}

/** A foreign guest has the VMID of a server that is to be created. */
export function vmidTaken(vmid: number, why: string): Failed {
  return new Failed(
    {
      code: "vmid_taken",
      message: "The region has given this server's place to another server.",
      internal: `VMID ${vmid}: ${why}; the region's VMID range must belong to Kule alone`,
    },
    { vmidUnusable: "taken" },
  );
}

/** A guest that is not recognisable as the server's. It is never touched. */
export function notOurs(vmid: number, why: string): Failed {
  return new Failed({
    code: "vm_not_ours",
    message: "The server's virtual machine was changed outside of Kule. An operator has to look at it.",
    internal: `${why}; nothing was changed at VMID ${vmid}`,
  });
}

/**
 * False for a VM that a job broke off while making it: it may have the template's interfaces, without a VLAN and without
 * a filter, and is never started. The tags are written with everything else, in one call.
 */
export function isComplete({ server }: PayloadOf<ServerJobKind>, { tags }: Pick<Vm, "tags">): boolean {
  return tags.includes(server.id.toLowerCase());
}

/** Throws Failed for a VM that is not complete. */
export function requireComplete(payload: PayloadOf<ServerJobKind>, vm: Pick<Vm, "tags" | "node">): void {
  if (isComplete(payload, vm)) return;
  throw new Failed({
    code: "vm_incomplete",
    message: "The server's virtual machine was only half made. Rebuild the server.",
    internal: `VM ${payload.vmid} on ${vm.node} does not have the tag ${payload.server.id}, which it is given with its interfaces and its filter`,
  });
}

/** @param waitedMilliseconds how long its agent was waited for; nothing for a guest that does not run */
export function guestAgentUnavailable(why: string, waitedMilliseconds = 0): Failed {
  const waited = waitedMilliseconds === 0 ? "" : ` within ${Math.round(waitedMilliseconds / 1_000)} s`;
  return new Failed({
    code: "guest_agent_unavailable",
    message: `The server's guest agent did not answer${waited}, so the password was not set. Try again when the guest has started.`,
    internal: why,
  });
}

export function vmMissing(vmid: number): Failed {
  return new Failed({
    code: "vm_missing",
    message: "The server's virtual machine does not exist any more.",
    internal: `no node has VM ${vmid}`,
  });
}

/** The token may not free what the deletion of a VM has left: it would need the right to change the storage itself. */
export function volumesLeft(volumes: readonly LeftoverVolume[], cause: Error): Failed {
  const commands = volumes.map(
    ({ node, volume, bytes }) => `on node ${node}: pvesm free ${volume}   (${bytes} bytes)`,
  );
  return new Failed(
    {
      code: "volumes_left",
      message:
        "The server is deleted, but the region could not free all of its disks. An operator has to look at it.",
      internal: [
        "The agent's token may not free these disks, for it has no Datastore.Allocate. Free them by hand, then retry the job:",
        ...commands,
        cause.message,
      ].join("\n"),
    },
    { cause },
  );
}
