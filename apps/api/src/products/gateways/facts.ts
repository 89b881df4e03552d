import type { GatewayFacts, ServableSubnet } from "@kule/rules/gateways/lifecycle";
import type { Tier } from "@kule/rules/networks/tiers";
import type { Database, Tx } from "../../platform/database.ts";
import type { GatewayDetails } from "./store.ts";

/** The facts about the gateway itself that rules need, without its network's subnets. */
export function ownFacts(row: GatewayDetails): GatewayFacts {
  return {
    id: row.id,
    isDeleting: row.is_deleting,
    hasOpenJob: row.job_id !== null,
    servedIds: row.subnets.filter(({ is_leaving }) => !is_leaving).map(({ subnet_id }) => subnet_id),
    leavingIds: row.subnets.filter(({ is_leaving }) => is_leaving).map(({ subnet_id }) => subnet_id),
    forwards: row.forwards.map(({ id, protocol, listen_port, target_address }) => ({
      id,
      protocol,
      listenPort: listen_port,
      targetAddress: target_address,
    })),
    subnets: [],
  };
}

/** All facts that rules need. They stay true only while the network's row is locked. */
export async function factsOf(tx: Tx, row: GatewayDetails): Promise<GatewayFacts> {
  const subnets = await servableSubnets(tx, row.organisation_id, row.network_id);
  return { ...ownFacts(row), subnets };
}

/** The subnets of a network, as far as a gateway may serve them. */
export async function servableSubnets(
  db: Database | Tx,
  organisationId: string,
  networkId: string,
): Promise<ServableSubnet[]> {
  const rows = await db
    .selectFrom("subnet")
    .select(["id", "tier", "cidr", "status"])
    .where("organisation_id", "=", organisationId)
    .where("network_id", "=", networkId)
    .orderBy("created_at")
    .execute();
  return rows.map(({ id, tier, cidr, status }) => ({
    id,
    tier: tier as Tier,
    cidr,
    isDeleting: status === "deleting",
  }));
}
