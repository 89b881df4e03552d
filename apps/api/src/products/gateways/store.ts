import type { RequestQuery } from "@kule/contract/schemas";
import type { DB } from "@kule/database/generated/rows";
import { type Selectable, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { labelCondition } from "../../platform/label-filter.ts";
import { fetchPage, inOrder, type Page } from "../../platform/pagination.ts";
import { searchCondition } from "../../platform/search-condition.ts";

export type GatewayRow = Selectable<DB["gateway"]>;

/** A subnet that the gateway serves, or that the edge has not removed yet. */
export type ServedSubnet = {
  readonly subnet_id: string;
  readonly name: string;
  readonly cidr: string;
  readonly is_applied: boolean;
  readonly is_leaving: boolean;
};

/** A port forward that is not being deleted. */
export type KeptForward = {
  readonly id: string;
  readonly protocol: "tcp" | "udp";
  readonly listen_port: number;
  readonly target_address: string;
};

export type GatewayDetails = GatewayRow & {
  readonly public_ip_id: string;
  readonly address: string;
  readonly subnets: readonly ServedSubnet[];
  readonly forwards: readonly KeptForward[];
  readonly job_id: string | null;
};

const subnets = sql<ServedSubnet[]>`coalesce((
  select json_agg(json_build_object('subnet_id', s.id, 'name', s.name, 'cidr', s.cidr::text, 'is_applied', u.is_applied,
                                    'is_leaving', u.left_generation is not null) order by u.created_at, s.id)
    from gateway_subnet u
    join subnet s on s.organisation_id = u.organisation_id and s.id = u.subnet_id
   where u.organisation_id = gateway.organisation_id and u.gateway_id = gateway.id), '[]'::json)`;

const forwards = sql<KeptForward[]>`coalesce((
  select json_agg(json_build_object('id', f.id, 'protocol', f.protocol, 'listen_port', f.listen_port,
                                    'target_address', host(f.target_address)) order by f.created_at, f.id)
    from port_forward f
   where f.organisation_id = gateway.organisation_id and f.gateway_id = gateway.id and f.left_generation is null), '[]'::json)`;

const openJob = sql<string | null>`(
  select job.id from job
   where job.organisation_id = gateway.organisation_id and job.resource_id = gateway.network_id
     and job.status in ('queued', 'running')
   order by job.created_at desc limit 1)`;

function gatewayDetails(db: Database | Tx, organisationId: string) {
  return db
    .selectFrom("gateway")
    .innerJoin("public_ip", (join) =>
      join
        .onRef("public_ip.organisation_id", "=", "gateway.organisation_id")
        .onRef("public_ip.gateway_id", "=", "gateway.id"),
    )
    .selectAll("gateway")
    .select([
      "public_ip.id as public_ip_id",
      sql<string>`host(public_ip.address)`.as("address"),
      subnets.as("subnets"),
      forwards.as("forwards"),
      openJob.as("job_id"),
    ])
    .where("gateway.organisation_id", "=", organisationId);
}

export async function findGateway(
  db: Database | Tx,
  organisationId: string,
  id: string,
): Promise<GatewayDetails | null> {
  const row = await gatewayDetails(db, organisationId).where("gateway.id", "=", id).executeTakeFirst();
  return row ?? null;
}

export function listGateways(
  db: Database,
  organisationId: string,
  query: RequestQuery<"listGateways">,
): Promise<Page<GatewayDetails>> {
  let rows = gatewayDetails(db, organisationId);
  if (query.name !== undefined) rows = rows.where("gateway.name", "=", query.name);
  if (query.q !== undefined)
    rows = rows.where(searchCondition(query.q, { texts: ["gateway.name"], labels: "gateway.labels" }));
  if (query.region !== undefined) rows = rows.where("gateway.region", "=", query.region);
  if (query.label_selector !== undefined)
    rows = rows.where(labelCondition(query.label_selector, "gateway.labels"));
  return fetchPage(rows, inOrder("gateways", query, "gateway"));
}

/** The gateway of a network; null: it has none. */
export async function gatewayIn(
  tx: Tx,
  organisationId: string,
  networkId: string,
): Promise<GatewayRow | null> {
  const row = await tx
    .selectFrom("gateway")
    .selectAll()
    .where("organisation_id", "=", organisationId)
    .where("network_id", "=", networkId)
    .executeTakeFirst();
  return row ?? null;
}

/** The gateway of a network, under its own lock; the network's row must be locked. Null: it has none. */
export async function lockGatewayOf(
  tx: Tx,
  organisationId: string,
  networkId: string,
): Promise<GatewayRow | null> {
  const row = await tx
    .selectFrom("gateway")
    .selectAll()
    .where("organisation_id", "=", organisationId)
    .where("network_id", "=", networkId)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

type GatewayChanges = {
  readonly name?: string;
  readonly description?: string;
  readonly labels?: string;
  readonly is_deleting?: true;
};

/** @param wantedGeneration of the network, when the change is to be applied to the edge */
export async function changeGatewayRow(
  tx: Tx,
  { organisation_id, id }: Pick<GatewayRow, "organisation_id" | "id">,
  changes: GatewayChanges,
  wantedGeneration: number | null,
): Promise<void> {
  await tx
    .updateTable("gateway")
    .set({
      ...changes,
      generation: sql<number>`generation + 1`,
      updated_at: sql<Date>`clock_timestamp()`,
      ...(wantedGeneration === null
        ? // A change that does not concern the edge is in force as soon as it is written.
          {
            observed_generation: sql<number>`observed_generation + (observed_generation = generation)::integer`,
          }
        : {
            wanted_generation: wantedGeneration,
            status_code: null,
            status_message: null,
            status_job_id: null,
          }),
    })
    .where("organisation_id", "=", organisation_id)
    .where("id", "=", id)
    .execute();
}
