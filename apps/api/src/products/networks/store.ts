import type { RequestQuery } from "@kule/contract/schemas";
import type { Network } from "@kule/database/generated/rows";
import { type Selectable, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { lockOpenJobs } from "../../platform/jobs.ts";
import { labelCondition } from "../../platform/label-filter.ts";
import { fetchPage, inOrder, type Page } from "../../platform/pagination.ts";
import { searchCondition } from "../../platform/search-condition.ts";
import { type AddressUse, addressUse } from "./address-state.ts";

export type NetworkRow = Selectable<Network>;

/** A network with its subnets and their use, which is counted: only for what shows it. */
export type NetworkDetails = NetworkRow & {
  readonly subnets: readonly { id: string; name: string; tier: string; cidr: string }[];
  readonly addresses_total: number;
  readonly address_use: AddressUse;
};

const subnets = sql<NetworkDetails["subnets"]>`coalesce((
  select json_agg(json_build_object('id', s.id, 'name', s.name, 'tier', s.tier, 'cidr', s.cidr::text)
                  order by s.created_at, s.id)
    from subnet s
   where s.organisation_id = network.organisation_id and s.network_id = network.id), '[]'::json)`;

// Three addresses of each subnet are never a server's: network, gateway, broadcast.
const addressesTotal = sql<number>`(
  select coalesce(sum(2 ^ (32 - masklen(s.cidr)) - 3), 0)::integer
    from subnet s
   where s.organisation_id = network.organisation_id and s.network_id = network.id)`;

const useOfAddresses = addressUse(
  (table) => `${table}.organisation_id = network.organisation_id and ${table}.subnet_id = any (array(
    select s.id from subnet s where s.organisation_id = network.organisation_id and s.network_id = network.id))`,
);

function networkDetails(db: Database | Tx, organisationId: string) {
  return db
    .selectFrom("network")
    .selectAll("network")
    .select([subnets.as("subnets"), addressesTotal.as("addresses_total"), useOfAddresses.as("address_use")])
    .where("network.organisation_id", "=", organisationId);
}

export function listNetworks(
  db: Database,
  organisationId: string,
  query: RequestQuery<"listNetworks">,
): Promise<Page<NetworkDetails>> {
  let rows = networkDetails(db, organisationId);
  if (query.name !== undefined) rows = rows.where("network.name", "=", query.name);
  if (query.q !== undefined)
    rows = rows.where(
      searchCondition(query.q, {
        texts: ["network.name"],
        labels: "network.labels",
        also: [sql`position(${query.q} in text(network.cidr)) > 0`],
      }),
    );
  if (query.region !== undefined) rows = rows.where("network.region", "=", query.region);
  if (query.label_selector !== undefined)
    rows = rows.where(labelCondition(query.label_selector, "network.labels"));
  return fetchPage(rows, inOrder("networks", query, "network"));
}

export async function findNetwork(
  db: Database | Tx,
  organisationId: string,
  id: string,
): Promise<NetworkRow | null> {
  const row = await db
    .selectFrom("network")
    .selectAll()
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .executeTakeFirst();
  return row ?? null;
}

/** The same, to be shown. */
export async function findNetworkDetails(
  db: Database | Tx,
  organisationId: string,
  id: string,
): Promise<NetworkDetails | null> {
  const row = await networkDetails(db, organisationId).where("network.id", "=", id).executeTakeFirst();
  return row ?? null;
}

/** The network under its row lock: only the holder adds or removes subnets. */
export async function lockNetwork(tx: Tx, organisationId: string, id: string): Promise<NetworkRow | null> {
  const row = await tx
    .selectFrom("network")
    .selectAll()
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

/** Id and range of the organisation's networks in a region. */
export function listRanges(
  tx: Database | Tx,
  organisationId: string,
  region: string,
): Promise<{ id: string; name: string; cidr: string }[]> {
  return tx
    .selectFrom("network")
    .select(["id", "name", "cidr"])
    .where("organisation_id", "=", organisationId)
    .where("region", "=", region)
    .execute();
}

export type NewNetwork = {
  readonly id: string;
  readonly organisation_id: string;
  readonly region: string;
  readonly name: string;
  readonly cidr: string;
  readonly description?: string;
  readonly labels?: string;
};

/** The network that servers with no subnet named go to is the one with this name. */
export const defaultNetworkName = "default";

/** Adds a network; null when the region has one of that name. */
export async function insertNetwork(tx: Tx, network: NewNetwork): Promise<NetworkRow | null> {
  const row = await tx
    .insertInto("network")
    .values({
      ...network,
      is_default: network.name === defaultNetworkName,
      // The first generation is set by its first apply, in this transaction.
      generation: 0,
      observed_generation: 0,
    })
    .onConflict((on) => on.doNothing())
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

export async function updateNetworkRow(
  tx: Tx,
  organisationId: string,
  id: string,
  changes: { name?: string; description?: string; labels?: string },
): Promise<void> {
  const isDefault = changes.name === undefined ? {} : { is_default: changes.name === defaultNetworkName };
  await tx
    .updateTable("network")
    .set({
      ...changes,
      ...isDefault,
      generation: sql<number>`generation + 1`,
      // The change does not concern the region, so a network that was up to date stays so.
      observed_generation: sql<number>`case when observed_generation = generation then generation + 1
        else observed_generation end`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .execute();
}

/** Whether the network is applied to an edge, or may still be on one that the region had. */
export async function isOnEdge(tx: Tx, network: Pick<NetworkRow, "region" | "on_edge">): Promise<boolean> {
  if (network.on_edge) return true;
  const { has_edge } = await tx
    .selectFrom("region")
    .select("has_edge")
    .where("slug", "=", network.region)
    .executeTakeFirstOrThrow();
  return has_edge;
}

export async function hasOpenJob(tx: Tx, organisationId: string, id: string): Promise<boolean> {
  const { queued, running } = await lockOpenJobs(tx, organisationId, id);
  return queued !== null || running !== null;
}

/** The network is gone as soon as the region's edge has removed it. */
export async function markNetworkDeleting(tx: Tx, organisationId: string, id: string): Promise<void> {
  await tx
    .updateTable("network")
    .set({ status: "deleting", is_default: false })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .execute();
}

export async function deleteNetworkRow(tx: Tx, organisationId: string, id: string): Promise<void> {
  await tx.deleteFrom("network").where("organisation_id", "=", organisationId).where("id", "=", id).execute();
}
