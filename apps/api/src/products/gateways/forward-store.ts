import type { RequestQuery } from "@kule/contract/schemas";
import type { DB } from "@kule/database/generated/rows";
import { type Selectable, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { fetchPage, newestFirst, type Page } from "../../platform/pagination.ts";

export type PortForwardRow = Selectable<DB["port_forward"]>;

function portForwards(db: Database | Tx, organisationId: string) {
  return db
    .selectFrom("port_forward")
    .selectAll("port_forward")
    .select(sql<string>`host(port_forward.target_address)`.as("target_address"))
    .where("port_forward.organisation_id", "=", organisationId);
}

export function listPortForwards(
  db: Database,
  organisationId: string,
  gatewayId: string,
  query: RequestQuery<"listPortForwards">,
): Promise<Page<PortForwardRow>> {
  return fetchPage(
    portForwards(db, organisationId).where("port_forward.gateway_id", "=", gatewayId),
    newestFirst("port-forwards", query, "port_forward"),
  );
}

export async function findPortForward(
  db: Database | Tx,
  organisationId: string,
  gatewayId: string,
  id: string,
): Promise<PortForwardRow | null> {
  const row = await portForwards(db, organisationId)
    .where("port_forward.gateway_id", "=", gatewayId)
    .where("port_forward.id", "=", id)
    .executeTakeFirst();
  return row ?? null;
}

/** It goes once the edge has the network's generation. */
export async function leavePortForwards(
  tx: Tx,
  organisationId: string,
  ids: readonly string[],
  generation: number,
): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .updateTable("port_forward")
    .set({ left_generation: generation })
    .where("organisation_id", "=", organisationId)
    .where("id", "in", ids)
    .where("left_generation", "is", null)
    .execute();
}

/** The port forwards to the server, with their networks. */
export function keptForwardsTo(
  tx: Tx,
  organisationId: string,
  serverId: string,
): Promise<{ id: string; gateway_id: string; network_id: string }[]> {
  return tx
    .selectFrom("port_forward")
    .innerJoin("gateway", (join) =>
      join
        .onRef("gateway.organisation_id", "=", "port_forward.organisation_id")
        .onRef("gateway.id", "=", "port_forward.gateway_id"),
    )
    .select(["port_forward.id", "port_forward.gateway_id", "gateway.network_id"])
    .where("port_forward.organisation_id", "=", organisationId)
    .where("port_forward.server_id", "=", serverId)
    .where("port_forward.left_generation", "is", null)
    .orderBy("gateway.network_id")
    .execute();
}
