// Which guests the token sees in the cluster, by number.

import type { ProxmoxClient } from "./client.ts";
import { readBoolean, readNumber } from "./lenient.ts";

/** A VM or a template. The name is up to ten seconds old. */
export type ClusterGuest = {
  readonly vmid: number;
  readonly name: string;
  readonly node: string;
  readonly isTemplate: boolean;
};

/** What is hidden from the token is not among them. */
export async function clusterGuests(client: ProxmoxClient): Promise<ClusterGuest[]> {
  const rows = await client.call("GET /cluster/resources", { type: "vm" });
  return rows.flatMap((row) => {
    const vmid = readNumber(row.vmid);
    if (vmid === null || row.node === undefined) return [];
    return [{ vmid, name: row.name ?? "", node: row.node, isTemplate: readBoolean(row.template) }];
  });
}
