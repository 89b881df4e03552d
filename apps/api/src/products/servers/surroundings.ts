import { formatAddress, parseCidr, subnetAddresses } from "@kule/rules/networks/cidr";
import type { CreateFacts } from "@kule/rules/servers/preconditions";
import { sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { waitsForScan } from "../../platform/restored-regions.ts";

/** What a server is placed in: the facts about regions and subnets that placement needs. */

export type RegionRow = {
  readonly slug: string;
  readonly number: number;
  readonly maintenance: boolean;
  readonly agent_public_key: string | null;
};

/** The regions that the organisation may use. */
export function findVisibleRegions(db: Database | Tx, organisationId: string): Promise<RegionRow[]> {
  return db
    .selectFrom("region")
    .select(["slug", "number", "maintenance", "agent_public_key"])
    .where((is) =>
      is.or([
        is("restricted", "=", false),
        is.exists(
          is
            .selectFrom("region_organisation")
            .select("region")
            .whereRef("region_organisation.region", "=", "region.slug")
            .where("region_organisation.organisation_id", "=", organisationId),
        ),
      ]),
    )
    .orderBy("slug")
    .execute();
}

export type SubnetRow = {
  readonly id: string;
  readonly network_id: string;
  readonly region: string;
  readonly cidr: string;
  readonly status: string;
  /** The subnet `app` of the default network. */
  readonly is_default: boolean;
};

/**
 * The named subnet, wherever it is; without a name the organisation's subnets in the region. `hasNetwork` tells an
 * organisation with an empty network from one without any.
 */
export async function findSubnets(
  db: Database | Tx,
  organisationId: string,
  region: string,
  named: string | undefined,
): Promise<{ readonly subnets: SubnetRow[]; readonly hasNetwork: boolean }> {
  const rows = await db
    .selectFrom("network")
    .leftJoin("subnet", (join) =>
      join
        .onRef("subnet.organisation_id", "=", "network.organisation_id")
        .onRef("subnet.network_id", "=", "network.id"),
    )
    .select([
      "subnet.id",
      "network.id as network_id",
      "network.region",
      sql<string | null>`subnet.cidr::text`.as("cidr"),
      "subnet.status",
      sql<boolean>`network.is_default and subnet.name = 'app'`.as("is_default"),
    ])
    .where("network.organisation_id", "=", organisationId)
    .where((is) => (named === undefined ? is("network.region", "=", region) : is("subnet.id", "=", named)))
    .orderBy("is_default", "desc")
    .orderBy("subnet.id")
    // Only the default one matters, and whether there are others.
    .limit(3)
    .execute();
  const subnets = rows.flatMap(({ id, cidr, status, ...row }) =>
    id === null || cidr === null || status === null ? [] : [{ ...row, id, cidr, status }],
  );
  return { subnets, hasNetwork: rows.some((row) => row.region === region) };
}

/** Facts that may refuse a create, read in the transaction that is about to write. */
export type CreateFactsRow = {
  /** The organisation has some quota: what it uses is counted under its lock. */
  readonly isLimited: boolean;
  readonly maintenance: boolean;
  readonly waitsForScan: boolean;
  readonly agent_public_key: string | null;
  readonly hasFreeVmid: boolean;
  readonly hasFreeVlan: boolean;
};

export function readCreateFacts(tx: Tx, organisationId: string, region: string): Promise<CreateFactsRow> {
  return tx
    .selectFrom("region")
    .select([
      "maintenance",
      "agent_public_key",
      waitsForScan.as("waitsForScan"),
      sql<boolean>`(select coalesce(server_limit, vcpu_limit, memory_mb_limit, disk_gb_limit, network_limit,
          subnet_limit, public_ip_limit) is not null from organisation where organisation.id = ${organisationId})`.as(
        "isLimited",
      ),
      sql<boolean>`exists (select 1 from region_vmid v where v.region = region.slug and v.state = 'free')`.as(
        "hasFreeVmid",
      ),
      sql<boolean>`exists (select 1 from region_vlan v where v.region = region.slug and v.subnet_id is null and not v.held)`.as(
        "hasFreeVlan",
      ),
    ])
    .where("slug", "=", region)
    .executeTakeFirstOrThrow();
}

type SubnetFacts = NonNullable<CreateFacts["subnet"]>;

/**
 * Whether the subnet has a free address, and the state of the requested one. An address whose quarantine is
 * over counts as free, and so does a reserved one that is named.
 *
 * @param counts false leaves the count to the allocation, which checks under the subnet's lock anyway
 */
export async function findSubnetFacts(
  tx: Tx,
  organisationId: string,
  subnet: SubnetRow,
  wanted: string | undefined,
  counts: boolean,
): Promise<SubnetFacts> {
  return {
    id: subnet.id,
    networkId: subnet.network_id,
    deleting: subnet.status === "deleting",
    // A named address is free or not, however many others are.
    hasFreeAddress: counts && wanted === undefined ? await hasFreeAddress(tx, organisationId, subnet) : true,
    taken: wanted === undefined ? null : await findTaken(tx, organisationId, subnet.id, wanted),
  };
}

/** Not free for a request that names none. */
const isTaken = sql<boolean>`(address.state <> 'quarantined' or address.free_after > clock_timestamp()
  or address.reservation_id is not null)`;
/** Nor for a request that names it; a reserved address is free for it. */
const isTakenByName = sql<boolean>`case address.state when 'quarantined' then address.free_after > clock_timestamp()
  when 'reserved' then address.reservation_id is null else true end`;

async function hasFreeAddress(tx: Tx, organisationId: string, subnet: SubnetRow): Promise<boolean> {
  const cidr = parseCidr(subnet.cidr);
  if (typeof cidr === "string") throw new Error(`subnet ${subnet.id} has the CIDR ${subnet.cidr}`);
  const { firstServer, lastServer, serverCount } = subnetAddresses(cidr);
  const { taken } = await tx
    .selectFrom("address")
    .select(sql<number>`count(*)::integer`.as("taken"))
    .where("organisation_id", "=", organisationId)
    .where("subnet_id", "=", subnet.id)
    .where("address", ">=", formatAddress(firstServer))
    .where("address", "<=", formatAddress(lastServer))
    .where(isTaken)
    .executeTakeFirstOrThrow();
  return taken < serverCount;
}

async function findTaken(
  tx: Tx,
  organisationId: string,
  subnetId: string,
  wanted: string,
): Promise<SubnetFacts["taken"]> {
  const row = await tx
    .selectFrom("address")
    .leftJoin("nic", (join) =>
      join
        .onRef("nic.organisation_id", "=", "address.organisation_id")
        .onRef("nic.id", "=", "address.nic_id"),
    )
    .select("nic.server_id")
    .where("address.organisation_id", "=", organisationId)
    .where("address.subnet_id", "=", subnetId)
    .where("address.address", "=", wanted)
    .where(isTakenByName)
    .executeTakeFirst();
  return row === undefined ? null : { address: wanted, serverId: row.server_id };
}

/**
 * Takes the subnet's row lock. An interface references its subnet, and the reference takes a lock too: two
 * creates that inserted their interfaces first would each wait for the other one when they allocate an
 * address.
 *
 * @returns false when the subnet is gone, or is being deleted
 */
export async function lockSubnetRow(tx: Tx, organisationId: string, subnetId: string): Promise<boolean> {
  const row = await tx
    .selectFrom("subnet")
    .select("id")
    .where("organisation_id", "=", organisationId)
    .where("id", "=", subnetId)
    .where("status", "<>", "deleting")
    .forUpdate()
    .executeTakeFirst();
  return row !== undefined;
}
