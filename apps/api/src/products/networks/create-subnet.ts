import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { overlaps } from "@kule/rules/networks/cidr";
import { vlanExhausted } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { Conflict, NotFound } from "../../platform/errors.ts";
import { queueFilterRefresh } from "../../platform/filter-refresh.ts";
import { newId } from "../../platform/ids.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { viewJobOrNone } from "../jobs/index.ts";
import { takeQuota } from "../quotas/index.ts";
import { askedBy, requestNetworkApply } from "./apply.ts";
import { cidrTaken, networkDeleting, noRoomForSubnet, subnetNameTaken } from "./conflicts.ts";
import { blockOf, nextSubnetRange, subnetCidrErrors } from "./ranges.ts";
import { lockNetwork, type NetworkRow } from "./store.ts";
import {
  findSubnetDetails,
  insertSubnet,
  listSubnetRanges,
  type SubnetDetails,
  takeVlan,
} from "./subnet-store.ts";
import { viewSubnet } from "./view.ts";

export function checkCreateSubnet(
  _request: ApiRequest<"createSubnet">,
  body: Partial<RequestBody<"createSubnet">>,
  network: NetworkRow,
): FieldError[] {
  return body.cidr === undefined ? [] : subnetCidrErrors(body.cidr, network.cidr);
}

export async function createSubnet(
  request: ApiRequest<"createSubnet">,
  tx: Tx,
  found: NetworkRow,
): Promise<Outcome> {
  const { body, organisationId, caller } = request;
  // Before the network's lock, in the order of a server's create that also creates a network.
  await takeQuota(tx, organisationId, { subnets: 1 });
  const network = await lockNetwork(tx, organisationId, found.id);
  if (network === null) throw new NotFound();
  if (network.status === "deleting") throw networkDeleting(network.id);
  const { id } = await addSubnet(tx, network, body);
  const job = await requestNetworkApply(tx, organisationId, network.id, askedBy(request));
  const row = await findSubnetDetails(tx, organisationId, id);
  if (row === null) throw new Error("a subnet that was just made could not be found");
  return {
    reply: reply(
      job === null ? 201 : 202,
      { subnet: viewSubnet(row, caller.isOperator), job: await viewJobOrNone(tx, job, caller) },
      { Location: `/api/v1/networks/${network.id}/subnets/${row.id}`, ETag: `"g${row.generation}"` },
    ),
    resource: row.id,
    details: { network_id: network.id, cidr: row.cidr, vlan: row.vlan },
  };
}

/**
 * Adds a subnet to a network: its range, its VLAN, its reserved addresses. The network's row must be locked,
 * and the change queued for the region's edge in the same transaction.
 *
 * @throws Conflict `name_taken`, `cidr_overlap`, `network_full` or `vlan_exhausted`
 */
export async function addSubnet(
  tx: Tx,
  network: NetworkRow,
  wanted: RequestBody<"createSubnet">,
): Promise<SubnetDetails> {
  const siblings = await listSubnetRanges(tx, network.organisation_id, network.id);
  if (siblings.some((sibling) => sibling.name === wanted.name)) throw subnetNameTaken(wanted.name);
  const cidr = wanted.cidr ?? nextSubnetRange(network.cidr, siblings);
  if (cidr === null) throw noRoomForSubnet(network.id, network.cidr);
  const neighbour = siblings.find((sibling) => overlaps(blockOf(sibling.cidr), blockOf(cidr)));
  if (neighbour !== undefined) throw cidrTaken(cidr, neighbour);

  const id = newId("sub");
  await insertSubnet(tx, {
    id,
    organisation_id: network.organisation_id,
    network_id: network.id,
    region: network.region,
    name: wanted.name,
    tier: wanted.tier,
    cidr,
    dns_servers: wanted.dns_servers ?? [],
    labels: JSON.stringify(wanted.labels ?? {}),
  }).catch((error: unknown) => {
    // Under the lock these violations cannot occur; the constraints decide all the same.
    const constraint = violatedConstraint(error);
    if (constraint === "subnet_name") throw subnetNameTaken(wanted.name);
    if (constraint === "subnet_cidr_overlap") throw cidrTaken(cidr, null);
    throw error;
  });
  if ((await takeVlan(tx, network.region, id)) === null) throw new Conflict(vlanExhausted(network.region));
  // A rule may be about the whole network.
  await queueFilterRefresh(tx, network.organisation_id, network.region);
  const row = await findSubnetDetails(tx, network.organisation_id, id);
  if (row === null) throw new Error("a subnet that was just made could not be found");
  return row;
}
