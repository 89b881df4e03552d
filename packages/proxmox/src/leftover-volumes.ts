import type { ProxmoxClient } from "./client.ts";
import { onlineNodes } from "./cluster.ts";
import type { LeftoverVolume } from "./hypervisor.ts";
import { readBoolean, readNumber } from "./lenient.ts";

/** Every volume that bears the VMID, on every storage of every node that answers; a shared one is named once. */
export async function findLeftoverVolumes(
  client: ProxmoxClient,
  vmid: number,
  signal?: AbortSignal,
): Promise<LeftoverVolume[]> {
  const found = new Map<string, LeftoverVolume>();
  for (const node of await onlineNodes(client, signal)) {
    const storages = await client.call("GET /nodes/{node}/storage", { node, content: "images" }, { signal });
    for (const { storage, active, enabled, shared } of storages) {
      if (!readBoolean(active) || !readBoolean(enabled)) continue;
      const path = { node, storage, vmid };
      const content = await client.call("GET /nodes/{node}/storage/{storage}/content", path, { signal });
      for (const { volid, size } of content) {
        const key = readBoolean(shared) ? volid : `${node} ${volid}`;
        if (!found.has(key)) found.set(key, { node, storage, volume: volid, bytes: readNumber(size) ?? 0 });
      }
    }
  }
  return [...found.values()];
}
