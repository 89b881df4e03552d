import { inUse } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { noContent, reply } from "../../platform/reply.ts";
import { viewJobOrNone } from "../jobs/index.ts";
import { askedBy, requestNetworkApply } from "./apply.ts";
import { networkDeleting } from "./conflicts.ts";
import { findUse, type NetworkHooks } from "./hooks.ts";
import {
  deleteNetworkRow,
  findNetworkDetails,
  hasOpenJob,
  isOnEdge,
  lockNetwork,
  markNetworkDeleting,
  type NetworkRow,
} from "./store.ts";
import { listSubnetRanges } from "./subnet-store.ts";
import { viewNetwork } from "./view.ts";

export async function deleteNetwork(
  request: ApiRequest<"deleteNetwork">,
  tx: Tx,
  found: NetworkRow,
  hooks: readonly NetworkHooks[],
): Promise<Outcome> {
  const { organisationId } = request;
  const network = await lockNetwork(tx, organisationId, found.id);
  if (network === null) throw new NotFound();
  request.checkGeneration(network);
  // One whose job has failed may be deleted again.
  if (network.status === "deleting" && (await hasOpenJob(tx, organisationId, network.id)))
    throw networkDeleting(network.id);
  const all = await listSubnetRanges(tx, organisationId, network.id);
  const subnets = all.filter(({ status }) => status !== "deleting");
  const [first] = subnets;
  if (first !== undefined)
    throw new Conflict(
      inUse(
        "network_empty",
        `the network still has ${subnets.length} subnet(s): ${subnets.map((subnet) => subnet.name).join(", ")}`,
        { resource: first.id, fix: `DELETE /networks/${network.id}/subnets/${first.id}` },
      ),
    );
  const used = { network_id: network.id };
  const use = await findUse(hooks, tx, organisationId, used);
  if (use !== null) throw use;
  const details = { name: network.name, cidr: network.cidr };
  if (await isOnEdge(tx, network)) {
    await markNetworkDeleting(tx, organisationId, network.id);
    const job = await requestNetworkApply(tx, organisationId, network.id, askedBy(request));
    const row = await findNetworkDetails(tx, organisationId, network.id);
    if (row === null) throw new Error("a network that is being deleted could not be found");
    const body = { network: viewNetwork(row), job: await viewJobOrNone(tx, job, request.caller) };
    return { reply: reply(202, body), resource: network.id, details };
  }
  await deleteNetworkRow(tx, organisationId, network.id);
  return { reply: noContent(), resource: network.id, details };
}
