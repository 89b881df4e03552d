// The last check before a call that changes or destroys.

import { ProxmoxLocked, ProxmoxNotFound, ProxmoxNotOurs } from "./errors.ts";
import type { Owner } from "./hypervisor.ts";
import { readBoolean } from "./lenient.ts";
import { parseMarker } from "./marker.ts";
import {
  isOwner,
  normalConfig,
  RESOLVE_ATTEMPTS,
  RESOLVE_PAUSE_MILLISECONDS,
  type Region,
  rowOf,
} from "./vm-observation.ts";

export type OwnVm = {
  readonly node: string;
  readonly config: Readonly<Record<string, string>>;
  readonly digest: string;
  readonly pool: string | null;
};

/**
 * The last check before a call that changes or destroys: the VM's node and that it is still the owner's.
 * Throws ProxmoxNotFound, ProxmoxLocked or ProxmoxNotOurs.
 *
 * @param lock `even-locked`: for a call that changes nothing of the VM
 */
export async function requireOwnVm(
  { client, runtime }: Region,
  vmid: number,
  owner: Owner,
  signal?: AbortSignal,
  lock: "unlocked" | "even-locked" = "unlocked",
): Promise<OwnVm> {
  const call = `look before changing VM ${vmid}`;
  for (let attempt = 1; ; attempt++) {
    const row = rowOf(await client.call("GET /cluster/resources", { type: "vm" }, { signal }), vmid);
    if (!row)
      throw new ProxmoxNotFound({
        call,
        status: null,
        text: `no node has VM ${vmid}`,
        outcome: "permanent",
        fix: null,
      });
    try {
      const config = normalConfig(
        await client.call("GET /nodes/{node}/qemu/{vmid}/config", { node: row.node, vmid }, { signal }),
      );
      const held = row.lock ?? config.lock;
      if (held && lock === "unlocked")
        throw new ProxmoxLocked({
          call,
          status: null,
          text: `VM is locked (${held})`,
          outcome: "retryable",
          fix: null,
        });
      const marker = parseMarker(config.description);
      if (row.type !== "qemu" || readBoolean(config.template) || !marker || !isOwner(marker, owner))
        throw new ProxmoxNotOurs({
          call,
          status: null,
          text: `VM ${vmid} on ${row.node} is not marked as ${owner.serverId} of region ${owner.region}`,
          outcome: "permanent",
          fix: "Somebody made or changed this VM by hand. Move it out of the region's VMID range, or restore its description.",
        });
      return { node: row.node, config, digest: config.digest ?? "", pool: row.pool };
    } catch (error) {
      if (!(error instanceof ProxmoxNotFound) || attempt >= RESOLVE_ATTEMPTS) throw error;
      await runtime.pause(RESOLVE_PAUSE_MILLISECONDS, signal);
    }
  }
}
