import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { conflict, NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { noContent } from "../../platform/reply.ts";
import { askForRefresh, usedByFirewall } from "../firewalls/index.ts";
import { lockNetwork } from "./store.ts";
import { deleteSubnetRow, listServersIn, lockSubnet, type SubnetDetails } from "./subnet-store.ts";

export async function deleteSubnet(
  request: ApiRequest<"deleteSubnet">,
  tx: Tx,
  found: SubnetDetails,
): Promise<Outcome> {
  const { organisationId } = request;
  // Network before subnet, as everywhere, so that two transactions cannot wait for each other.
  await lockNetwork(tx, organisationId, found.network_id);
  const subnet = await lockSubnet(tx, organisationId, found.id);
  if (subnet === null) throw new NotFound();
  request.checkGeneration(subnet);
  const servers = await listServersIn(tx, organisationId, subnet.id);
  const [first] = servers;
  if (first !== undefined)
    throw conflict(
      "in_use",
      "subnet_empty",
      `the subnet is used by ${servers.map((server) => `${server.name} (${server.id})`).join(", ")}`,
      { resource: first.id, fix: `DELETE /servers/${first.id}` },
    );
  const use = await usedByFirewall(tx, organisationId, { subnet_id: subnet.id });
  if (use !== null) throw use;
  await deleteSubnetRow(tx, organisationId, subnet.id);
  // A rule may be about the whole network.
  await askForRefresh(tx, organisationId, subnet.region);
  return {
    reply: noContent(),
    resource: subnet.id,
    details: { network_id: subnet.network_id, name: subnet.name, cidr: subnet.cidr, vlan: found.vlan },
  };
}
