import type { PayloadOf } from "@kule/contract/schemas";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";

type PayloadGateway = PayloadOf<"NetworkApply">["gateway"];

/**
 * The network's internet access as the edge should have it; null without one. Next hop, prefix and VLAN are
 * those of the pool that its address is from; a pool without a VLAN is the uplink itself.
 */
export async function gatewayOf(tx: Tx, organisationId: string, networkId: string): Promise<PayloadGateway> {
  const row = await tx
    .selectFrom("gateway")
    .innerJoin("public_ip", (join) =>
      join
        .onRef("public_ip.organisation_id", "=", "gateway.organisation_id")
        .onRef("public_ip.gateway_id", "=", "gateway.id"),
    )
    .innerJoin("ip_pool", "ip_pool.id", "public_ip.pool_id")
    .select([
      "gateway.id",
      sql<string>`host(public_ip.address)`.as("address"),
      "ip_pool.prefix_length",
      sql<string>`host(ip_pool.gateway)`.as("next_hop"),
      "ip_pool.vlan",
    ])
    .where("gateway.organisation_id", "=", organisationId)
    .where("gateway.network_id", "=", networkId)
    .where("gateway.is_deleting", "=", false)
    .executeTakeFirst();
  if (row === undefined) return null;
  const served = await tx
    .selectFrom("gateway_subnet")
    .select("subnet_id")
    .where("organisation_id", "=", organisationId)
    .where("gateway_id", "=", row.id)
    .where("left_generation", "is", null)
    .orderBy("subnet_id")
    .execute();
  const forwards = await tx
    .selectFrom("port_forward")
    .select([
      "protocol",
      "listen_port",
      sql<string>`host(target_address)`.as("target_address"),
      "target_port",
    ])
    .where("organisation_id", "=", organisationId)
    .where("gateway_id", "=", row.id)
    .where("left_generation", "is", null)
    .orderBy("protocol")
    .orderBy("listen_port")
    .execute();
  return {
    ...row,
    subnet_ids: served.map(({ subnet_id }) => subnet_id),
    port_forwards: forwards.map(({ protocol, ...forward }) => ({
      protocol: protocol as "tcp" | "udp",
      ...forward,
    })),
  };
}
