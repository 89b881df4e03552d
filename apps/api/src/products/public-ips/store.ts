import type { RequestQuery } from "@kule/contract/schemas";
import type { PublicIp } from "@kule/database/generated/rows";
import type { Holder, OwnerPlace, PublicIpFacts } from "@kule/rules/public-ips/lifecycle";
import type { ServerStatus } from "@kule/rules/servers/lifecycle";
import type { ServerOwner } from "@kule/rules/servers/owner";
import { type Selectable, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { labelCondition } from "../../platform/label-filter.ts";
import { fetchPage, inOrder, type Page } from "../../platform/pagination.ts";
import { searchCondition } from "../../platform/search-condition.ts";
import { ownerOf } from "../../platform/server-owner.ts";

export type PublicIpRow = Selectable<PublicIp>;

/** The server that has the address, should have it, or has not released it yet. */
type HolderRow = {
  readonly holder_id: string | null;
  readonly holder_name: string | null;
  readonly holder_region: string | null;
  readonly holder_status: string | null;
  readonly holder_job_id: string | null;
  readonly holder_locked_reason: string | null;
  readonly holder_managed_by: ServerOwner | null;
};

/** The server of `held_by` while the address is to go to another one. */
type KeeperRow = {
  readonly keeper_region: string | null;
  readonly keeper_status: string | null;
  readonly keeper_job_id: string | null;
  readonly keeper_locked_reason: string | null;
  readonly keeper_managed_by: ServerOwner | null;
};

/** The gateway that has the address. */
type GatewayRow = {
  readonly gateway_name: string | null;
  readonly gateway_is_deleting: boolean | null;
  readonly gateway_is_applied: boolean | null;
  readonly gateway_job_id: string | null;
};

/** The load balancer on two servers that has the address. */
type LoadBalancerRow = {
  readonly balancer_name: string | null;
  readonly balancer_is_deleting: boolean | null;
  readonly balancer_is_applied: boolean | null;
  readonly balancer_job_id: string | null;
};

export type PublicIpDetails = PublicIpRow &
  HolderRow &
  KeeperRow &
  GatewayRow &
  LoadBalancerRow & {
    readonly gateway: string;
    readonly prefix_length: number;
    readonly vlan: number | null;
    /** Its own, or else the one by the pattern of its pool. */
    readonly reverse_name: string | null;
    /** Null without a reverse name, now and before. */
    readonly ptr_state: string | null;
  };

/** The open job of the server that is joined under this name, other than one that can be superseded. */
const jobOf = (server: "server" | "keeper") => sql<string | null>`(
  select job.id from job
   where job.organisation_id = public_ip.organisation_id and job.resource_id = ${sql.ref(`${server}.id`)}
     and (job.status = 'running' or job.status = 'queued' and job.kind <> 'FirewallApply')
   order by job.created_at desc limit 1)`;

function details(db: Database | Tx, organisationId: string) {
  return db
    .selectFrom("public_ip")
    .innerJoin("ip_pool", "ip_pool.id", "public_ip.pool_id")
    .leftJoin("public_pointer", "public_pointer.address", "public_ip.address")
    .leftJoin("server", (join) =>
      join
        .onRef("server.organisation_id", "=", "public_ip.organisation_id")
        // No coalesce: with row-level security Postgres compares no index with one, and reads all servers.
        .on(
          "server.id",
          "=",
          sql`case when public_ip.server_id is null then public_ip.held_by else public_ip.server_id end`,
        ),
    )
    .leftJoin("server as keeper", (join) =>
      join
        .onRef("keeper.organisation_id", "=", "public_ip.organisation_id")
        .onRef("keeper.id", "=", "public_ip.held_by")
        .onRef("public_ip.held_by", "<>", "public_ip.server_id"),
    )
    .leftJoin("gateway as way", (join) =>
      join
        .onRef("way.organisation_id", "=", "public_ip.organisation_id")
        .onRef("way.id", "=", "public_ip.gateway_id"),
    )
    .leftJoin("load_balancer as balancer", (join) =>
      join
        .onRef("balancer.organisation_id", "=", "public_ip.organisation_id")
        .onRef("balancer.id", "=", "public_ip.load_balancer_id"),
    )
    .selectAll("public_ip")
    .select([
      sql<string>`host(public_ip.address)`.as("address"),
      sql<string>`host(ip_pool.gateway)`.as("gateway"),
      "way.name as gateway_name",
      "way.is_deleting as gateway_is_deleting",
      sql<boolean | null>`way.observed_generation > 0`.as("gateway_is_applied"),
      sql<string | null>`(
        select job.id from job
         where job.organisation_id = public_ip.organisation_id and job.resource_id = way.network_id
           and job.status in ('queued', 'running')
         order by job.created_at desc limit 1)`.as("gateway_job_id"),
      "balancer.name as balancer_name",
      "balancer.is_deleting as balancer_is_deleting",
      sql<boolean | null>`balancer.observed_generation > 0`.as("balancer_is_applied"),
      // Its own, or one of a server of its machines.
      sql<string | null>`case when balancer.id is not null then (
        select job.id from job
         where job.organisation_id = public_ip.organisation_id and job.status in ('queued', 'running')
           and job.resource_id = any (balancer.id || array(
             select m.server_id from load_balancer_machine m
              where m.organisation_id = public_ip.organisation_id and m.load_balancer_id = balancer.id
                and m.server_id is not null))
         order by job.resource_id = balancer.id desc, job.created_at desc limit 1) end`.as("balancer_job_id"),
      "ip_pool.prefix_length",
      "public_pointer.wanted as reverse_name",
      "public_pointer.state as ptr_state",
      "ip_pool.vlan",
      "server.id as holder_id",
      "server.name as holder_name",
      "server.region as holder_region",
      "server.status as holder_status",
      "server.locked_reason as holder_locked_reason",
      ownerOf("server").as("holder_managed_by"),
      jobOf("server").as("holder_job_id"),
      "keeper.region as keeper_region",
      "keeper.status as keeper_status",
      "keeper.locked_reason as keeper_locked_reason",
      ownerOf("keeper").as("keeper_managed_by"),
      jobOf("keeper").as("keeper_job_id"),
    ])
    .where("public_ip.organisation_id", "=", organisationId);
}

export async function findPublicIp(
  db: Database | Tx,
  organisationId: string,
  id: string,
): Promise<PublicIpDetails | null> {
  const row = await details(db, organisationId).where("public_ip.id", "=", id).executeTakeFirst();
  return row ?? null;
}

export function listPublicIps(
  db: Database,
  organisationId: string,
  query: RequestQuery<"listPublicIps">,
): Promise<Page<PublicIpDetails>> {
  let rows = details(db, organisationId);
  if (query.q !== undefined)
    rows = rows.where(
      searchCondition(query.q, {
        texts: ["public_ip.ptr"],
        labels: "public_ip.labels",
        also: [sql`position(lower(${query.q}::text) in host(public_ip.address)) > 0`],
      }),
    );
  if (query.region !== undefined) rows = rows.where("public_ip.region", "=", query.region);
  if (query.label_selector !== undefined)
    rows = rows.where(labelCondition(query.label_selector, "public_ip.labels"));
  return fetchPage(rows, inOrder("public-ips", query, "public_ip"));
}

/**
 * The row under its lock, with the facts that rules need. The rows of its servers are locked first, if at
 * all.
 */
export async function lockPublicIp(
  tx: Tx,
  organisationId: string,
  id: string,
): Promise<PublicIpDetails | null> {
  const locked = await tx
    .selectFrom("public_ip")
    .select("id")
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  return locked === undefined ? null : findPublicIp(tx, organisationId, id);
}

export function factsOf(row: PublicIpDetails): PublicIpFacts {
  return {
    id: row.id,
    region: row.region,
    version: row.version,
    vlan: row.vlan,
    serverId: row.server_id,
    heldBy: row.held_by,
    isApplied: row.is_applied,
    isProtected: row.protect_delete,
    holder: holderOf(row),
    keeper: keeperOf(row),
    gateway: gatewayPlace(row),
    loadBalancer: loadBalancerPlace(row),
  };
}

function gatewayPlace(row: PublicIpDetails): OwnerPlace | null {
  if (row.gateway_id === null) return null;
  return {
    id: row.gateway_id,
    isDeleting: row.gateway_is_deleting === true,
    isApplied: row.gateway_is_applied === true,
  };
}

function loadBalancerPlace(row: PublicIpDetails): OwnerPlace | null {
  if (row.load_balancer_id === null) return null;
  return {
    id: row.load_balancer_id,
    isDeleting: row.balancer_is_deleting === true,
    isApplied: row.balancer_is_applied === true,
  };
}

function keeperOf(row: PublicIpDetails): Holder | null {
  if (row.held_by === null || row.keeper_region === null) return null;
  return {
    id: row.held_by,
    region: row.keeper_region,
    status: row.keeper_status as ServerStatus,
    hasOpenJob: row.keeper_job_id !== null,
    lockedFor: row.keeper_locked_reason,
    managedBy: row.keeper_managed_by,
  };
}

function holderOf(row: PublicIpDetails): Holder | null {
  if (row.holder_id === null || row.holder_region === null) return null;
  return {
    id: row.holder_id,
    region: row.holder_region,
    status: row.holder_status as ServerStatus,
    hasOpenJob: row.holder_job_id !== null,
    lockedFor: row.holder_locked_reason,
    managedBy: row.holder_managed_by,
  };
}

export type PublicIpChanges = {
  readonly ptr?: string | null;
  readonly labels?: string;
  readonly delete_with_server?: boolean;
  readonly protect_delete?: boolean;
};

export async function updatePublicIpRow(
  tx: Tx,
  organisationId: string,
  id: string,
  changes: PublicIpChanges,
): Promise<void> {
  await tx
    .updateTable("public_ip")
    .set({ ...changes, generation: sql<number>`generation + 1`, updated_at: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .execute();
}
