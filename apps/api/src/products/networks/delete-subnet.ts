import { inUse } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, NotFound } from "../../platform/errors.ts";
import { queueFilterRefresh } from "../../platform/filter-refresh.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { noContent, reply } from "../../platform/reply.ts";
import { viewJobOrNone } from "../jobs/index.ts";
import { askedBy, requestNetworkApply } from "./apply.ts";
import { subnetDeleting } from "./conflicts.ts";
import { findUse, type NetworkHooks } from "./hooks.ts";
import { listReservationsIn } from "./reservation-store.ts";
import { hasOpenJob, isOnEdge, lockNetwork } from "./store.ts";
import {
  deleteSubnetRow,
  type FoundSubnet,
  findSubnetDetails,
  listServersIn,
  lockSubnet,
  markSubnetDeleting,
} from "./subnet-store.ts";
import { viewSubnet } from "./view.ts";

export async function deleteSubnet(
  request: ApiRequest<"deleteSubnet">,
  tx: Tx,
  found: FoundSubnet,
  hooks: readonly NetworkHooks[],
): Promise<Outcome> {
  const { organisationId } = request;
  // Network before subnet, as everywhere, so that two transactions cannot wait for each other.
  const network = await lockNetwork(tx, organisationId, found.network_id);
  const subnet = await lockSubnet(tx, organisationId, found.id);
  if (network === null || subnet === null) throw new NotFound();
  request.checkGeneration(subnet);
  // One whose job has failed may be deleted again.
  if (subnet.status === "deleting" && (await hasOpenJob(tx, organisationId, network.id)))
    throw subnetDeleting(subnet.id);
  const servers = await listServersIn(tx, organisationId, subnet.id);
  const [first] = servers;
  if (first !== undefined)
    throw new Conflict(
      inUse(
        "subnet_empty",
        `the subnet is used by ${servers.map((server) => `${server.name} (${server.id})`).join(", ")}`,
        { resource: first.id, fix: `DELETE /servers/${first.id}` },
      ),
    );
  const reservations = await listReservationsIn(tx, organisationId, subnet.id);
  const [kept] = reservations;
  if (kept !== undefined)
    throw new Conflict(
      inUse(
        "subnet_without_reservations",
        `addresses of the subnet are reserved by ${reservations.map(({ name, id }) => `${name} (${id})`).join(", ")}`,
        {
          resource: kept.id,
          fix: `DELETE /networks/${subnet.network_id}/subnets/${subnet.id}/reservations/${kept.id}`,
        },
      ),
    );
  const used = { subnet_id: subnet.id };
  const use = await findUse(hooks, tx, organisationId, used);
  if (use !== null) throw use;
  const details = {
    network_id: subnet.network_id,
    name: subnet.name,
    cidr: subnet.cidr,
    vlan: found.vlan,
  };
  if (await isOnEdge(tx, network)) {
    await markSubnetDeleting(tx, organisationId, subnet.id);
    const job = await requestNetworkApply(tx, organisationId, network.id, askedBy(request));
    const row = await findSubnetDetails(tx, organisationId, subnet.id);
    if (row === null) throw new Error("a subnet that is being deleted could not be found");
    const { caller } = request;
    const body = { subnet: viewSubnet(row, caller.isOperator), job: await viewJobOrNone(tx, job, caller) };
    return { reply: reply(202, body), resource: subnet.id, details };
  }
  await deleteSubnetRow(tx, organisationId, subnet.id);
  await requestNetworkApply(tx, organisationId, network.id, askedBy(request));
  // A rule may be about the whole network.
  await queueFilterRefresh(tx, organisationId, subnet.region);
  return {
    reply: noContent(),
    resource: subnet.id,
    details,
  };
}
