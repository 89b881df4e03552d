import type { IntentGateway } from "@kule/rules/networks/intent";
import { sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";

/** The wanted gateways of the organisation in a region: without those that are being deleted. */
export async function gatewaysOf(
  db: Database | Tx,
  organisationId: string,
  region: string,
): Promise<IntentGateway[]> {
  const { rows } = await sql<{
    id: string;
    network_id: string;
    address: string;
    subnet_ids: string[];
    forwards: IntentGateway["portForwards"];
  }>`
    select g.id, g.network_id, host(i.address) as address,
           coalesce((select array_agg(u.subnet_id order by u.subnet_id) from gateway_subnet u
             where u.organisation_id = g.organisation_id and u.gateway_id = g.id and u.left_generation is null), '{}') as subnet_ids,
           coalesce((select json_agg(json_build_object('id', f.id, 'protocol', f.protocol, 'listenPort', f.listen_port,
                                       'targetAddress', host(f.target_address), 'targetPort', f.target_port) order by f.id)
              from port_forward f
             where f.organisation_id = g.organisation_id and f.gateway_id = g.id and f.left_generation is null), '[]'::json) as forwards
      from gateway g
      join public_ip i on i.organisation_id = g.organisation_id and i.gateway_id = g.id
     where g.organisation_id = ${organisationId} and g.region = ${region} and not g.is_deleting
     order by g.id`.execute(db);
  return rows.map(({ id, network_id, address, subnet_ids, forwards }) => ({
    id,
    networkId: network_id,
    address,
    subnetIds: subnet_ids,
    portForwards: forwards,
  }));
}

/** Null while the network has no gateway, or one that is being deleted. */
export async function gatewayAddressOf(
  db: Database | Tx,
  organisationId: string,
  networkId: string,
): Promise<string | null> {
  const row = await db
    .selectFrom("gateway")
    .innerJoin("public_ip", (join) =>
      join
        .onRef("public_ip.organisation_id", "=", "gateway.organisation_id")
        .onRef("public_ip.gateway_id", "=", "gateway.id"),
    )
    .select(sql<string>`host(public_ip.address)`.as("address"))
    .where("gateway.organisation_id", "=", organisationId)
    .where("gateway.network_id", "=", networkId)
    .where("gateway.is_deleting", "=", false)
    .executeTakeFirst();
  return row?.address ?? null;
}
