import type { RequestQuery } from "@kule/contract/schemas";
import type { Subnet } from "@kule/database/generated/rows";
import { formatAddress, parseCidr, subnetAddresses } from "@kule/rules/networks/cidr";
import { type Selectable, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { fetchPage, newestFirst, type Page } from "../../platform/pagination.ts";
import { type AddressUse, addressUse } from "./address-state.ts";

export type SubnetRow = Selectable<Subnet>;

/** A subnet with its VLAN. */
export type FoundSubnet = SubnetRow & {
  readonly vlan: number | null;
  /** The region's edge connects it to a gateway, or has not confirmed yet that it no longer does. */
  readonly is_let_out: boolean;
  /** Why the network's job has failed. */
  readonly status_code: string | null;
  readonly status_message: string | null;
  readonly status_job_id: string | null;
};

/** The same with the use of its addresses, which are counted: only for what shows it. */
export type SubnetDetails = FoundSubnet & { readonly address_use: AddressUse };

const vlan = sql<number | null>`(select v.vlan from region_vlan v where v.subnet_id = subnet.id)`;

const useOfAddresses = addressUse(
  (table) => `${table}.organisation_id = subnet.organisation_id and ${table}.subnet_id = subnet.id`,
);

const isLetOut = sql<boolean>`exists (
  select 1 from gateway_subnet g
   where g.organisation_id = subnet.organisation_id and g.subnet_id = subnet.id and g.is_applied)`;

function foundSubnets(db: Database | Tx, organisationId: string) {
  return db
    .selectFrom("subnet")
    .innerJoin("network", (join) =>
      join
        .onRef("network.organisation_id", "=", "subnet.organisation_id")
        .onRef("network.id", "=", "subnet.network_id"),
    )
    .selectAll("subnet")
    .select([
      vlan.as("vlan"),
      isLetOut.as("is_let_out"),
      "network.status_code",
      "network.status_message",
      "network.status_job_id",
    ])
    .where("subnet.organisation_id", "=", organisationId);
}

const subnetDetails = (db: Database | Tx, organisationId: string) =>
  foundSubnets(db, organisationId).select(useOfAddresses.as("address_use"));

export function listSubnets(
  db: Database,
  organisationId: string,
  networkId: string,
  query: RequestQuery<"listSubnets">,
): Promise<Page<SubnetDetails>> {
  let rows = subnetDetails(db, organisationId).where("subnet.network_id", "=", networkId);
  if (query.name !== undefined) rows = rows.where("subnet.name", "=", query.name);
  return fetchPage(rows, newestFirst("subnets", query, "subnet"));
}

/** @param networkId when given, the subnet must be this network's */
export async function findSubnet(
  db: Database | Tx,
  organisationId: string,
  id: string,
  networkId?: string,
): Promise<FoundSubnet | null> {
  let rows = foundSubnets(db, organisationId).where("subnet.id", "=", id);
  if (networkId !== undefined) rows = rows.where("subnet.network_id", "=", networkId);
  return (await rows.executeTakeFirst()) ?? null;
}

/** The same, to be shown. */
export async function findSubnetDetails(
  db: Database | Tx,
  organisationId: string,
  id: string,
  networkId?: string,
): Promise<SubnetDetails | null> {
  let rows = subnetDetails(db, organisationId).where("subnet.id", "=", id);
  if (networkId !== undefined) rows = rows.where("subnet.network_id", "=", networkId);
  return (await rows.executeTakeFirst()) ?? null;
}

/** The subnet under its row lock: only the holder allocates and releases addresses that a request names. */
export async function lockSubnet(tx: Tx, organisationId: string, id: string): Promise<SubnetRow | null> {
  const row = await tx
    .selectFrom("subnet")
    .selectAll()
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

/** Id, name and range of a network's subnets. */
export function listSubnetRanges(
  tx: Database | Tx,
  organisationId: string,
  networkId: string,
): Promise<{ id: string; name: string; cidr: string; status: string }[]> {
  return tx
    .selectFrom("subnet")
    .select(["id", "name", "cidr", "status"])
    .where("organisation_id", "=", organisationId)
    .where("network_id", "=", networkId)
    .orderBy("created_at")
    .execute();
}

export type NewSubnet = {
  readonly id: string;
  readonly organisation_id: string;
  readonly network_id: string;
  readonly region: string;
  readonly name: string;
  readonly tier: string;
  readonly cidr: string;
  readonly dns_servers?: string[];
  readonly labels?: string;
};

/** Adds a subnet and sets aside the addresses that no server can have. */
export async function insertSubnet(tx: Tx, subnet: NewSubnet): Promise<void> {
  const cidr = parseCidr(subnet.cidr);
  if (typeof cidr === "string") throw new Error(`${subnet.cidr} is no block`);
  const addresses = subnetAddresses(cidr);
  await tx
    .insertInto("subnet")
    .values({
      ...subnet,
      gateway_ip: formatAddress(addresses.gateway),
      lowest_free_hint: formatAddress(addresses.firstServer),
    })
    .execute();
  await tx
    .insertInto("address")
    .values(
      [addresses.network, addresses.gateway, addresses.broadcast].map((address) => ({
        subnet_id: subnet.id,
        organisation_id: subnet.organisation_id,
        address: formatAddress(address),
        state: "reserved",
      })),
    )
    .execute();
}

/** Allocates the region's lowest free VLAN to the subnet; null when there is none. */
export async function takeVlan(tx: Tx, region: string, subnetId: string): Promise<number | null> {
  const row = await tx
    .updateTable("region_vlan")
    .set({ subnet_id: subnetId })
    .where("region", "=", region)
    .where("vlan", "=", (free) =>
      free
        .selectFrom("region_vlan as candidate")
        .select("candidate.vlan")
        .where("candidate.region", "=", region)
        .where("candidate.subnet_id", "is", null)
        .where("candidate.held", "=", sql.lit(false))
        .orderBy("candidate.vlan")
        .limit(1)
        .forUpdate()
        .skipLocked(),
    )
    .returning("vlan")
    .executeTakeFirst();
  return row?.vlan ?? null;
}

export async function updateSubnetRow(
  tx: Tx,
  organisationId: string,
  id: string,
  changes: { name?: string; dns_servers?: string[]; labels?: string },
): Promise<void> {
  await tx
    .updateTable("subnet")
    .set({
      ...changes,
      generation: sql<number>`generation + 1`,
      // The change does not concern the edge.
      observed_generation: sql<number>`case when observed_generation = generation then generation + 1
        else observed_generation end`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .execute();
}

/** The subnet is gone as soon as the region's edge has removed it; until then nothing of it is allocated. */
export async function markSubnetDeleting(tx: Tx, organisationId: string, id: string): Promise<void> {
  await tx
    .updateTable("subnet")
    .set({
      status: "deleting",
      generation: sql<number>`generation + 1`,
      edge_generation: 0,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .execute();
}

/** Removes a subnet; its addresses go with it and its VLAN is free again. */
export async function deleteSubnetRow(tx: Tx, organisationId: string, id: string): Promise<void> {
  await tx.deleteFrom("subnet").where("organisation_id", "=", organisationId).where("id", "=", id).execute();
}

/** Names of servers with an interface in the subnet, a few of them. */
export function listServersIn(
  tx: Tx,
  organisationId: string,
  subnetId: string,
): Promise<{ id: string; name: string }[]> {
  return tx
    .selectFrom("nic")
    .innerJoin("server", (join) =>
      join
        .onRef("server.organisation_id", "=", "nic.organisation_id")
        .onRef("server.id", "=", "nic.server_id"),
    )
    .select(["server.id", "server.name"])
    .where("nic.organisation_id", "=", organisationId)
    .where("nic.subnet_id", "=", subnetId)
    .orderBy("server.name")
    .limit(20)
    .execute();
}
