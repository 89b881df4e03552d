import type { PayloadOf, Schemas } from "@kule/contract/schemas";
import type { Tx } from "../../platform/database.ts";
import type { JobRow } from "../../platform/jobs.ts";
import type { NetworkHooks } from "./hooks.ts";

export type NetworkPayload = PayloadOf<"NetworkApply">;

/** The network as the edge should have it, from the present intent. */
export async function renderNetworkPayload(
  tx: Tx,
  job: JobRow,
  hooks: readonly NetworkHooks[],
): Promise<NetworkPayload> {
  const { organisation_id: organisationId, resource_id: networkId } = job;
  const network = await tx
    .selectFrom("network")
    .select(["edge_generation", "status"])
    .where("organisation_id", "=", organisationId)
    .where("id", "=", networkId)
    .executeTakeFirst();
  if (network === undefined) throw new Error(`job ${job.id} has no network`);
  const base = {
    kind: "NetworkApply" as const,
    network: { id: networkId, organisation_id: organisationId },
    generation: network.edge_generation,
  };
  if (network.status === "deleting") return { ...base, state: "gone", subnets: [], gateway: null };
  const subnets = await subnetsOf(tx, organisationId, networkId);
  const gateway = await hooks.find((hook) => hook.gateway)?.gateway?.(tx, organisationId, networkId);
  return { ...base, state: "present", subnets, gateway: gateway ?? null };
}

async function subnetsOf(
  tx: Tx,
  organisationId: string,
  networkId: string,
): Promise<Schemas["PayloadEdgeSubnet"][]> {
  const rows = await tx
    .selectFrom("subnet")
    .innerJoin("region_vlan", (join) =>
      join.onRef("region_vlan.subnet_id", "=", "subnet.id").onRef("region_vlan.region", "=", "subnet.region"),
    )
    .select(["subnet.id", "subnet.tier", "subnet.cidr", "subnet.gateway_ip", "region_vlan.vlan"])
    .where("subnet.organisation_id", "=", organisationId)
    .where("subnet.network_id", "=", networkId)
    .where("subnet.status", "<>", "deleting")
    .orderBy("subnet.id")
    .execute();
  return rows.map(({ id, tier, cidr, gateway_ip, vlan }) => ({
    id,
    tier: tier as Schemas["Tier"],
    vlan,
    cidr,
    gateway_address: gateway_ip,
  }));
}
