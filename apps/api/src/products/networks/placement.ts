import type { Schemas } from "@kule/contract/schemas";
import type { Tx } from "../../platform/database.ts";
import { Unavailable } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { type Requester, requestNetworkApply } from "./apply.ts";
import { addSubnet } from "./create-subnet.ts";
import { nextNetworkRange } from "./ranges.ts";
import { defaultNetworkName, findNetworkDetails, insertNetwork, listRanges, lockNetwork } from "./store.ts";
import { findSubnetDetails } from "./subnet-store.ts";
import { viewNetwork, viewSubnet } from "./view.ts";

const defaultSubnetName = "app";

export type DefaultNetwork = {
  readonly subnetId: string;
  /** What was created too; null when another request had just created it. */
  readonly createdAlong: Schemas["CreatedAlong"] | null;
};

/**
 * Creates the network `default` with its subnet `app` in the region, in the transaction of the server that
 * needs it. Two concurrent first servers get the same one.
 *
 * @throws Conflict `vlan_exhausted`
 */
export async function ensureDefaultNetwork(
  tx: Tx,
  organisationId: string,
  region: string,
  by: Requester,
): Promise<DefaultNetwork> {
  const inserted = await insertNetwork(tx, {
    id: newId("net"),
    organisation_id: organisationId,
    region,
    name: defaultNetworkName,
    cidr: nextNetworkRange(await listRanges(tx, organisationId, region)),
  });
  if (inserted === null) {
    const subnetId = await findDefaultSubnet(tx, organisationId, region);
    if (subnetId !== null) return { subnetId, createdAlong: null };
    throw new Unavailable("the default network is being changed; try again", 1);
  }
  const locked = await lockNetwork(tx, organisationId, inserted.id);
  if (locked === null) throw new Error("a network that was just made could not be found");
  const { id } = await addSubnet(tx, locked, { name: defaultSubnetName, tier: "app" });
  await requestNetworkApply(tx, organisationId, inserted.id, by);
  const subnet = await findSubnetDetails(tx, organisationId, id);
  const network = await findNetworkDetails(tx, organisationId, inserted.id);
  if (network === null || subnet === null) throw new Error("a network that was just made could not be found");
  return {
    subnetId: subnet.id,
    createdAlong: { network: viewNetwork(network), subnet: viewSubnet(subnet, false) },
  };
}

/** Whether `ensureDefaultNetwork` would find an existing network. */
export async function hasDefaultNetwork(tx: Tx, organisationId: string, region: string): Promise<boolean> {
  return (await findDefaultSubnet(tx, organisationId, region)) !== null;
}

/** Id of the subnet `app` of the network `default`, which another transaction has just created. */
async function findDefaultSubnet(tx: Tx, organisationId: string, region: string): Promise<string | null> {
  const row = await tx
    .selectFrom("network")
    .innerJoin("subnet", (join) =>
      join
        .onRef("subnet.organisation_id", "=", "network.organisation_id")
        .onRef("subnet.network_id", "=", "network.id"),
    )
    .select("subnet.id")
    .where("network.organisation_id", "=", organisationId)
    .where("network.region", "=", region)
    .where("network.name", "=", defaultNetworkName)
    .where("subnet.name", "=", defaultSubnetName)
    .where("subnet.status", "<>", "deleting")
    .executeTakeFirst();
  return row?.id ?? null;
}
