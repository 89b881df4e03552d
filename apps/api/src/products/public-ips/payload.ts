import { macAddress, publicPosition } from "@kule/rules/servers/mac";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import type { PublicInterface } from "../servers/index.ts";

/**
 * The public interface that the server's VM should have now; null for none. An address that another server's
 * VM may still have is left out: no job of this server gets it before the other VM has released it. That of a load
 * balancer may be used by both of its servers, and the guest that is active brings it itself.
 */
export async function publicInterfaceOf(
  tx: Tx,
  server: {
    readonly id: string;
    readonly organisation_id: string;
    readonly region: string;
    readonly vmid: number;
  },
): Promise<PublicInterface | null> {
  const rows = await tx
    .selectFrom("public_ip")
    .innerJoin("ip_pool", "ip_pool.id", "public_ip.pool_id")
    .innerJoin("region", "region.slug", "public_ip.region")
    .select([
      "public_ip.version",
      sql<string>`host(public_ip.address)`.as("address"),
      "ip_pool.prefix_length",
      sql<string>`host(ip_pool.gateway)`.as("gateway"),
      "ip_pool.vlan",
      "region.number",
      sql<boolean>`public_ip.load_balancer_id is not null`.as("is_shared"),
    ])
    .where("public_ip.organisation_id", "=", server.organisation_id)
    .where((is) =>
      is.or([
        is.and([is("public_ip.server_id", "=", server.id), is("public_ip.held_by", "=", server.id)]),
        is(
          "public_ip.load_balancer_id",
          "=",
          sql<string>`(select s.managed_by_id from server s where s.organisation_id = ${server.organisation_id}
            and s.id = ${server.id} and s.managed_by_type = 'load_balancer')`,
        ),
      ]),
    )
    .orderBy("public_ip.version")
    .execute();
  const [first] = rows;
  if (first === undefined) return null;
  const shared = rows.filter(({ is_shared }) => is_shared).map(({ address }) => address);
  return {
    mac: macAddress(first.number, server.vmid, publicPosition),
    vlan: first.vlan,
    addresses: rows
      .filter(({ is_shared }) => !is_shared)
      .map(({ version, address, prefix_length, gateway }) => ({
        version: version as 4 | 6,
        address,
        prefix_length,
        gateway,
      })),
    ...(shared.length === 0 ? {} : { additional_addresses: shared }),
  };
}
