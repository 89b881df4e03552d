import type { RequestQuery, Schemas } from "@kule/contract/schemas";
import { type RawBuilder, sql } from "kysely";
import type { Database } from "../../platform/database.ts";
import { fetchPage, type Page } from "../../platform/pagination.ts";
import { addressState } from "./address-state.ts";
import type { SubnetRow } from "./subnet-store.ts";

export type HeldAddress = {
  readonly address: string;
  readonly state: Schemas["AddressState"];
  readonly role: "network" | "gateway" | "broadcast" | null;
  readonly since: Date;
  readonly free_after: Date | null;
  readonly server_id: string | null;
  readonly server_name: string | null;
  readonly reservation_id: string | null;
  readonly reservation_name: string | null;
};

/**
 * What is true of every address with the state, as the row says it. Those that are not used have an index: a subnet has few of
 * them beside its servers.
 */
const mayHave: { readonly [state in Schemas["AddressState"]]: RawBuilder<boolean> } = {
  used: sql`true`,
  quarantined: sql`a.state = 'quarantined'`,
  reserved: sql`a.state <> 'used' and a.reservation_id is not null`,
  platform: sql`a.state = 'reserved' and a.reservation_id is null`,
};

/** The subnet's addresses that are not free, in their order. */
export function listAddresses(
  db: Database,
  organisationId: string,
  subnet: SubnetRow,
  query: RequestQuery<"listSubnetAddresses">,
): Promise<Page<HeldAddress>> {
  const { state, limit, cursor } = query;
  const rows = db
    .selectFrom("address as a")
    .leftJoin("nic", (join) =>
      join.onRef("nic.organisation_id", "=", "a.organisation_id").onRef("nic.id", "=", "a.nic_id"),
    )
    .leftJoin("server", (join) =>
      join
        .onRef("server.organisation_id", "=", "nic.organisation_id")
        .onRef("server.id", "=", "nic.server_id"),
    )
    .leftJoin("address_reservation as reservation", (join) =>
      join
        .onRef("reservation.organisation_id", "=", "a.organisation_id")
        .onRef("reservation.id", "=", "a.reservation_id"),
    )
    .select([
      sql<string>`host(a.address)`.as("address"),
      sql<Schemas["AddressState"]>`${addressState}`.as("state"),
      sql<
        HeldAddress["role"]
      >`case when a.state <> 'reserved' or a.reservation_id is not null or a.load_balancer_id is not null then null
        when a.address = ${subnet.gateway_ip}::inet then 'gateway'
        when a.address = host(network(${subnet.cidr}::cidr))::inet then 'network' else 'broadcast' end`.as(
        "role",
      ),
      "a.since",
      sql<Date | null>`case ${addressState} when 'quarantined' then a.free_after end`.as("free_after"),
      "server.id as server_id",
      "server.name as server_name",
      "reservation.id as reservation_id",
      "reservation.name as reservation_name",
    ])
    .where("a.organisation_id", "=", organisationId)
    .where("a.subnet_id", "=", subnet.id)
    .where(
      state === undefined
        ? sql<boolean>`${addressState} is not null`
        : // A CASE, so that the planner does not expect hardly any row (see label-filter.ts).
          sql<boolean>`${mayHave[state]} and case when ${addressState} = ${state} then true else false end`,
    );
  return fetchPage(rows, {
    list: "addresses",
    limit: limit ?? 50,
    cursor,
    direction: "asc",
    keys: [{ column: "a.address", kind: "address" }],
  });
}
