import type { RequestQuery } from "@kule/contract/schemas";
import type { IpPool, IpPoolRange } from "@kule/database/generated/rows";
import { type Insertable, type Selectable, sql } from "kysely";
import { type Database, systemQuery, type Tx } from "../../platform/database.ts";
import { fetchPage, inOrder, newestFirst, type Page } from "../../platform/pagination.ts";

export type IpPoolRow = Selectable<IpPool>;

export type AddressCounts = {
  readonly total: number;
  readonly reserved: number;
  readonly free: number;
  readonly allocated: number;
  readonly taken: number;
  readonly quarantined: number;
};

export type IpPoolDetails = IpPoolRow & { readonly addresses: AddressCounts };

/** It is allocated to no one, and its quarantine, if any, is over. */
export const isFresh = sql<boolean>`(public_address.state = 'free'
  or public_address.state = 'quarantined' and public_address.free_after <= clock_timestamp())`;

// The kept counts, and those whose quarantine has not ended yet: by time, which no count notices.
const counts = sql<AddressCounts>`(
  select json_build_object(
           'total', has.total, 'reserved', has.reserved, 'taken', has.taken,
           'free', has.fresh - resting.fresh, 'allocated', has.allocated - resting.allocated,
           'quarantined', resting.fresh + resting.allocated)
    from (select coalesce(sum(amount), 0) as total,
                 coalesce(sum(amount) filter (where state = 'reserved'), 0) as reserved,
                 coalesce(sum(amount) filter (where state in ('free', 'quarantined') and not is_allocated), 0) as fresh,
                 coalesce(sum(amount) filter (where state in ('free', 'quarantined') and is_allocated), 0) as allocated,
                 coalesce(sum(amount) filter (where state = 'used'), 0) as taken
            from public_address_count where public_address_count.pool_id = ip_pool.id) has,
         (select count(*) filter (where allocated_to is null) as fresh,
                 count(*) filter (where allocated_to is not null) as allocated
            from public_address
           where public_address.pool_id = ip_pool.id and state = 'quarantined' and free_after > clock_timestamp()) resting)`;

function details(db: Database | Tx) {
  return db
    .selectFrom("ip_pool")
    .selectAll("ip_pool")
    .select([sql<string>`host(ip_pool.gateway)`.as("gateway"), counts.as("addresses")]);
}

export async function findIpPool(db: Database | Tx, id: string): Promise<IpPoolDetails | null> {
  const row = await details(db).where("ip_pool.id", "=", id).executeTakeFirst();
  return row ?? null;
}

export function listIpPools(db: Database, query: RequestQuery<"listIpPools">): Promise<Page<IpPoolDetails>> {
  let rows = details(db);
  if (query.name !== undefined) rows = rows.where("ip_pool.name", "=", query.name);
  if (query.region !== undefined) rows = rows.where("ip_pool.region", "=", query.region);
  return fetchPage(rows, inOrder("ip-pools", query, "ip_pool"));
}

/** The pool's row under its lock, which every change of its content or its owners takes. */
export async function lockIpPool(tx: Tx, id: string): Promise<IpPoolRow | null> {
  const row = await tx
    .selectFrom("ip_pool")
    .selectAll("ip_pool")
    .select(sql<string>`host(gateway)`.as("gateway"))
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

export async function insertIpPool(tx: Tx, values: Insertable<IpPool>): Promise<void> {
  await tx.insertInto("ip_pool").values(values).execute();
}

export async function updateIpPoolRow(
  tx: Tx,
  id: string,
  changes: { name?: string; description?: string; reverse_name?: string | null },
): Promise<void> {
  await tx
    .updateTable("ip_pool")
    .set({ ...changes, generation: sql<number>`generation + 1`, updated_at: sql<Date>`clock_timestamp()` })
    .where("id", "=", id)
    .execute();
}

export type IpPoolRangeRow = Selectable<IpPoolRange> & { readonly size: number };

const ofRange = [
  sql<string>`host(first_address)`.as("first_address"),
  sql<string>`host(last_address)`.as("last_address"),
  sql<number>`(last_address - first_address + 1)::integer`.as("size"),
] as const;

export async function findIpPoolRange(
  db: Database | Tx,
  poolId: string,
  id: string,
): Promise<IpPoolRangeRow | null> {
  const row = await db
    .selectFrom("ip_pool_range")
    .selectAll("ip_pool_range")
    .select(ofRange)
    .where("pool_id", "=", poolId)
    .where("id", "=", id)
    .executeTakeFirst();
  return row ?? null;
}

export function listIpPoolRanges(
  db: Database,
  poolId: string,
  query: RequestQuery<"listIpPoolRanges">,
): Promise<Page<IpPoolRangeRow>> {
  const rows = db
    .selectFrom("ip_pool_range")
    .selectAll("ip_pool_range")
    .select(ofRange)
    .where("pool_id", "=", poolId);
  return fetchPage(rows, newestFirst(`ip-pool-ranges ${poolId}`, query, "ip_pool_range"));
}

/** An address that is not free: allocated to an organisation, or in quarantine. */
export async function findHeldAddress(
  tx: Tx,
  where: { readonly poolId: string; readonly rangeId?: string },
): Promise<{ readonly address: string; readonly public_ip_id: string | null } | null> {
  let held = tx
    .selectFrom("public_address")
    .select([sql<string>`host(address)`.as("address"), "public_ip_id"])
    .where("pool_id", "=", where.poolId)
    .where((is) =>
      is.or([
        is("allocated_to", "is not", null),
        is.and([is("state", "=", "quarantined"), sql<boolean>`free_after > clock_timestamp()`]),
      ]),
    );
  if (where.rangeId !== undefined) held = held.where("range_id", "=", where.rangeId);
  const row = await held.orderBy("seq").limit(1).executeTakeFirst();
  return row ?? null;
}

export type AllocationRow = {
  readonly address: string;
  readonly state: "free" | "taken" | "quarantined";
  readonly public_ip_id: string | null;
  readonly free_after: Date | null;
  readonly organisation: { readonly id: string; readonly slug: string; readonly name: string };
};

const organisation = sql<AllocationRow["organisation"]>`json_build_object(
  'id', organisation.id, 'slug', organisation.slug, 'name', organisation.name)`;

function allocations(db: Database | Tx, poolId: string) {
  return db
    .selectFrom("public_address")
    .innerJoin("organisation", "organisation.id", "public_address.allocated_to")
    .select([
      sql<string>`host(public_address.address)`.as("address"),
      sql<AllocationRow["state"]>`case when public_address.state = 'used' then 'taken'
                                       when ${isFresh} then 'free' else 'quarantined' end`.as("state"),
      "public_address.public_ip_id",
      sql<Date | null>`case when ${isFresh} then null else public_address.free_after end`.as("free_after"),
      organisation.as("organisation"),
    ])
    .where("public_address.pool_id", "=", poolId);
}

export function listAllocations(
  db: Database,
  poolId: string,
  query: RequestQuery<"listIpPoolAllocations">,
): Promise<Page<AllocationRow>> {
  return fetchPage(allocations(db, poolId), {
    list: `ip-pool-allocations ${poolId}`,
    limit: query.limit ?? 50,
    cursor: query.cursor,
    direction: "asc",
    keys: [{ column: "public_address.seq", kind: "integer" }],
  });
}

export async function findAllocation(
  db: Database | Tx,
  poolId: string,
  address: string,
): Promise<AllocationRow | null> {
  const row = await allocations(db, poolId).where("public_address.address", "=", address).executeTakeFirst();
  return row ?? null;
}

export type OrganisationShare = {
  readonly organisation: AllocationRow["organisation"];
  readonly allocated: number;
  readonly taken: number;
  readonly attached: number;
};

/** How much of the pool each organisation has, by slug. */
export function listShares(db: Database, poolId: string): Promise<OrganisationShare[]> {
  return systemQuery(db, "operators see who has a pool's addresses")
    .selectFrom("public_address")
    .innerJoin("organisation", "organisation.id", "public_address.allocated_to")
    .leftJoin("public_ip", "public_ip.id", "public_address.public_ip_id")
    .select([
      organisation.as("organisation"),
      sql<number>`count(*)::integer`.as("allocated"),
      sql<number>`count(public_ip.id)::integer`.as("taken"),
      sql<number>`count(public_ip.server_id)::integer`.as("attached"),
    ])
    .where("public_address.pool_id", "=", poolId)
    .groupBy(["organisation.id", "organisation.slug", "organisation.name"])
    .orderBy("organisation.slug")
    .execute();
}

/** More rows of a pool than this are replaced by their sums. */
const mostCounts = 500;

/** Replaces the counts of every pool that has many rows of them by their sums. */
export async function foldLongPoolCounts(db: Database): Promise<void> {
  const long = await db
    .selectFrom("public_address_count")
    .select("pool_id")
    .groupBy("pool_id")
    .having(sql<number>`count(*)`, ">", mostCounts)
    .execute();
  for (const { pool_id } of long)
    await sql`select kule_fold_public_address_counts(p_pool_id => ${pool_id})`.execute(db);
}
