import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { conflict, NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { noContent } from "../../platform/reply.ts";
import { usedByFirewall } from "../firewalls/index.ts";
import { deleteNetworkRow, lockNetwork, type NetworkDetails } from "./store.ts";
import { listSubnetRanges } from "./subnet-store.ts";

export async function deleteNetwork(
  request: ApiRequest<"deleteNetwork">,
  tx: Tx,
  found: NetworkDetails,
): Promise<Outcome> {
  const { organisationId } = request;
  const network = await lockNetwork(tx, organisationId, found.id);
  if (network === null) throw new NotFound();
  request.checkGeneration(network);
  const subnets = await listSubnetRanges(tx, organisationId, network.id);
  const [first] = subnets;
  if (first !== undefined)
    throw conflict(
      "in_use",
      "network_empty",
      `the network still has ${subnets.length} subnet(s): ${subnets.map((subnet) => subnet.name).join(", ")}`,
      { resource: first.id, fix: `DELETE /networks/${network.id}/subnets/${first.id}` },
    );
  const use = await usedByFirewall(tx, organisationId, { network_id: network.id });
  if (use !== null) throw use;
  await deleteNetworkRow(tx, organisationId, network.id);
  return { reply: noContent(), resource: network.id, details: { name: network.name, cidr: network.cidr } };
}
