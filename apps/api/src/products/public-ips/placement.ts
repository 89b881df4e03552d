import { refusePublicAddress, type Tier } from "@kule/rules/networks/tiers";
import type { AttachTarget } from "@kule/rules/public-ips/lifecycle";
import type { ServerStatus } from "@kule/rules/servers/lifecycle";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { ownerOf } from "../../platform/server-owner.ts";

/** The server as a target for public addresses; null when it is gone. Its row must be locked. */
export async function findTarget(
  tx: Tx,
  organisationId: string,
  serverId: string,
): Promise<AttachTarget | null> {
  const row = await tx
    .selectFrom("server")
    .select([
      "server.id",
      "server.region",
      "server.status",
      "server.locked_reason",
      ownerOf("server").as("managed_by"),
      sql<boolean>`exists (select 1 from job where job.organisation_id = server.organisation_id
                              and job.resource_id = server.id
                              and (job.status = 'running' or job.status = 'queued' and job.kind <> 'FirewallApply'))`.as(
        "has_open_job",
      ),
    ])
    .where("server.organisation_id", "=", organisationId)
    .where("server.id", "=", serverId)
    .where("server.deleted_at", "is", null)
    .executeTakeFirst();
  if (row === undefined) return null;
  const others = await tx
    .selectFrom("public_ip")
    .innerJoin("ip_pool", "ip_pool.id", "public_ip.pool_id")
    .select(["public_ip.id", "public_ip.version", "ip_pool.vlan"])
    .where("public_ip.organisation_id", "=", organisationId)
    .where("public_ip.server_id", "=", serverId)
    .execute();
  return {
    id: row.id,
    region: row.region,
    status: row.status as ServerStatus,
    hasOpenJob: row.has_open_job,
    lockedFor: row.locked_reason,
    managedBy: row.managed_by,
    others,
  };
}

/** Why the server's subnet forbids a public address; null when it does not. */
export async function tierRefusal(tx: Tx, organisationId: string, serverId: string) {
  const rows = await tx
    .selectFrom("nic")
    .innerJoin("subnet", (join) =>
      join
        .onRef("subnet.organisation_id", "=", "nic.organisation_id")
        .onRef("subnet.id", "=", "nic.subnet_id"),
    )
    .select(["subnet.id", "subnet.tier"])
    .where("nic.organisation_id", "=", organisationId)
    .where("nic.server_id", "=", serverId)
    .execute();
  for (const { id, tier } of rows) {
    const refusal = refusePublicAddress({ id, tier: tier as Tier });
    if (refusal !== null) return refusal;
  }
  return null;
}
