import type { RequestQuery } from "@kule/contract/schemas";
import type { LoadBalancer } from "@kule/database/generated/rows";
import { type RawBuilder, type Selectable, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import { labelCondition } from "../../platform/label-filter.ts";
import { fetchPage, inOrder, type Page } from "../../platform/pagination.ts";
import { searchCondition } from "../../platform/search-condition.ts";
import { sightingsToReport } from "../inventory/index.ts";
import { wantedThumbprint } from "./challenge-answer.ts";

export type LoadBalancerRow = Selectable<LoadBalancer>;

/** A machine with what is known of its server; times are ms since 1970. */
export type MachineOfLoadBalancer = {
  readonly slot: 1 | 2;
  readonly server_id: string | null;
  readonly private_ip: string | null;
  readonly observed_generation: number;
  /** Its VM exists. */
  readonly is_created: boolean;
  /** Its server's creation has failed. */
  readonly has_failed: boolean;
  readonly is_leaving: boolean;
  /** The package that its server has; null without one. */
  readonly package: string | null;
  readonly server_status: string | null;
  /** By its last resize. */
  readonly restarted_at_ms: number | null;
  /** The region has seen that its VM is not there. */
  readonly is_gone: boolean;
  readonly since_ms: number;
  readonly asked_at_ms: number | null;
  readonly answered_at_ms: number | null;
  readonly unanswered_asks: number;
  readonly role: "active" | "standby" | null;
  readonly connections: number | null;
  /** The open job that creates, resizes or destroys its server. */
  readonly job_id: string | null;
};

export type LoadBalancerDetails = LoadBalancerRow & {
  readonly machines: readonly MachineOfLoadBalancer[];
  readonly listener_count: number;
  readonly target_count: number;
  /** With ha, the address that its machines share. */
  readonly shared_address: string | null;
  readonly public_address: string | null;
  readonly job_id: string | null;
  /** By Postgres' clock. */
  readonly now_ms: number;
};

const inMs = (column: RawBuilder<unknown>) => sql`(extract(epoch from ${column}) * 1000)::bigint`;

const machines = sql<MachineOfLoadBalancer[]>`coalesce((
  select json_agg(json_build_object(
           'slot', m.slot, 'server_id', m.server_id, 'private_ip', host(a.address),
           'observed_generation', m.observed_generation,
           'is_created', coalesce(s.observed_generation > 0 and s.status not in ('deleting', 'deleted'), false),
           'has_failed', coalesce(s.observed_generation = 0 and s.status = 'error', false),
           'is_leaving', coalesce(s.status in ('pending_deletion', 'deleting'), false),
           'package', s.package, 'server_status', s.status, 'restarted_at_ms', ${inMs(sql`m.restarted_at`)},
           'is_gone', exists (select 1 from drift d where d.organisation_id = m.organisation_id
             and d.server_id = m.server_id and d.kind = 'missing' and d.sightings >= ${sql.lit(sightingsToReport)}),
           'since_ms', ${inMs(sql`m.since`)}, 'asked_at_ms', ${inMs(sql`seen.asked_at`)},
           'job_id', case when s.status in ('creating', 'resizing', 'pending_deletion', 'deleting') then (
             select j.id from job j where j.organisation_id = m.organisation_id and j.resource_id = m.server_id
                and j.status in ('queued', 'running') order by j.created_at, j.id limit 1) end,
           'answered_at_ms', ${inMs(sql`seen.answered_at`)},
           'unanswered_asks', coalesce(seen.unanswered_asks, 0), 'role', seen.role, 'connections', seen.connections)
         order by m.slot)
    from load_balancer_machine m
    left join server s on s.organisation_id = m.organisation_id and s.id = m.server_id
    left join nic on nic.organisation_id = m.organisation_id and nic.server_id = m.server_id and nic.position = 0
    left join address a on a.organisation_id = nic.organisation_id and a.nic_id = nic.id
    left join load_balancer_sight seen on seen.organisation_id = m.organisation_id
      and seen.load_balancer_id = m.load_balancer_id and seen.slot = m.slot and seen.server_id = m.server_id
   where m.organisation_id = load_balancer.organisation_id and m.load_balancer_id = load_balancer.id), '[]'::json)`;

// Its own; while it is being deleted also those of all its servers, of which former ones may be in no slot.
const ownJob = sql<string | null>`(
  select j.id from job j
   where j.organisation_id = load_balancer.organisation_id and j.status in ('queued', 'running')
     and j.resource_id = any (load_balancer.id || case when load_balancer.is_deleting then array(
         select s.id from server s where s.organisation_id = load_balancer.organisation_id
            and s.managed_by_id = load_balancer.id and s.managed_by_type is not null and s.deleted_at is null) end)
   order by (j.resource_id = load_balancer.id) desc, j.created_at, j.id limit 1)`;

const countOf = (table: "listener" | "load_balancer_target") => sql<number>`(
  select count(*)::integer from ${sql.table(table)} t
   where t.organisation_id = load_balancer.organisation_id and t.load_balancer_id = load_balancer.id)`;

function loadBalancerDetails(db: Database | Tx, organisationId: string) {
  return db
    .selectFrom("load_balancer")
    .selectAll("load_balancer")
    .select([
      machines.as("machines"),
      countOf("listener").as("listener_count"),
      countOf("load_balancer_target").as("target_count"),
      sql<string | null>`case when load_balancer.ha then (select host(a.address) from address a
        where a.organisation_id = load_balancer.organisation_id and a.load_balancer_id = load_balancer.id) end`.as(
        "shared_address",
      ),
      sql<string | null>`(select host(i.address) from public_ip i
        where i.organisation_id = load_balancer.organisation_id and i.id = load_balancer.public_ip_id)`.as(
        "public_address",
      ),
      ownJob.as("own_job_id"),
      sql<number>`(extract(epoch from clock_timestamp()) * 1000)::float8`.as("now_ms"),
    ])
    .where("load_balancer.organisation_id", "=", organisationId);
}

type ReadRow = Omit<LoadBalancerDetails, "job_id"> & { readonly own_job_id: string | null };

/** Its own job before those of its machines. */
function withJob<Row extends ReadRow>({
  own_job_id,
  ...row
}: Row): Omit<Row, "own_job_id"> & { readonly job_id: string | null } {
  return { ...row, job_id: own_job_id ?? row.machines.find(({ job_id }) => job_id !== null)?.job_id ?? null };
}

export async function findLoadBalancer(
  db: Database | Tx,
  organisationId: string,
  id: string,
): Promise<LoadBalancerDetails | null> {
  const row = await loadBalancerDetails(db, organisationId)
    .where("load_balancer.id", "=", id)
    .executeTakeFirst();
  return row === undefined ? null : withJob(row);
}

export async function listLoadBalancers(
  db: Database,
  organisationId: string,
  query: RequestQuery<"listLoadBalancers">,
): Promise<Page<LoadBalancerDetails>> {
  let rows = loadBalancerDetails(db, organisationId);
  if (query.name !== undefined) rows = rows.where("load_balancer.name", "=", query.name);
  if (query.q !== undefined)
    rows = rows.where(
      searchCondition(query.q, { texts: ["load_balancer.name"], labels: "load_balancer.labels" }),
    );
  if (query.region !== undefined) rows = rows.where("load_balancer.region", "=", query.region);
  if (query.label_selector !== undefined)
    rows = rows.where(labelCondition(query.label_selector, "load_balancer.labels"));
  const page = await fetchPage(rows, inOrder("load-balancers", query, "load_balancer"));
  return { ...page, rows: page.rows.map(withJob) };
}

export type KeptLoadBalancer = LoadBalancerDetails & {
  /** What it is to answer a CA with now. */
  readonly wanted_thumbprint: string | null;
};

/** Those that the worker looks after, in the order of their ids. */
export async function loadBalancersToKeep(
  db: Database | Tx,
  organisationId: string,
  ids: readonly string[],
): Promise<KeptLoadBalancer[]> {
  const rows = await loadBalancerDetails(db, organisationId)
    .select(wantedThumbprint.as("wanted_thumbprint"))
    .where("load_balancer.id", "in", [...ids])
    .orderBy("load_balancer.id")
    .execute();
  return rows.map(withJob);
}

/** The load balancer as this transaction has written it. */
export async function writtenLoadBalancer(
  tx: Tx,
  organisationId: string,
  id: string,
): Promise<LoadBalancerDetails> {
  const row = await findLoadBalancer(tx, organisationId, id);
  if (row === null) throw new Error(`load balancer ${id} went away while it was written`);
  return row;
}

/** Under its row lock, which comes before those of its servers: only the holder changes it, its listeners and targets. */
export async function lockLoadBalancer(
  tx: Tx,
  organisationId: string,
  id: string,
): Promise<LoadBalancerRow | null> {
  const row = await tx
    .selectFrom("load_balancer")
    .selectAll()
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

/** The same with what is known of it. @throws NotFound when it is gone */
export async function lockDetails(tx: Tx, organisationId: string, id: string): Promise<LoadBalancerDetails> {
  if ((await lockLoadBalancer(tx, organisationId, id)) === null) throw new NotFound();
  return writtenLoadBalancer(tx, organisationId, id);
}

type Changes = Partial<
  Pick<
    LoadBalancerRow,
    | "name"
    | "description"
    | "package"
    | "is_deleting"
    | "failure"
    | "failure_job_id"
    | "resize_failure"
    | "resize_job_id"
    | "public_ip_id"
    | "targets_digest"
  >
> & {
  readonly labels?: string;
  readonly observed_generation?: number;
  readonly acme_thumbprint?: RawBuilder<string | null>;
  readonly acme_generation?: number;
};

/** Changes the row and no generation. */
export async function writeLoadBalancer(
  tx: Tx,
  { organisation_id, id }: Pick<LoadBalancerRow, "organisation_id" | "id">,
  changes: Changes,
): Promise<void> {
  await tx
    .updateTable("load_balancer")
    .set({ ...changes, updated_at: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", organisation_id)
    .where("id", "=", id)
    .execute();
}

/** A change that does not concern the machines is in force as soon as it is written. */
export async function changeInForce(
  tx: Tx,
  { organisation_id, id }: Pick<LoadBalancerRow, "organisation_id" | "id">,
  changes: Changes,
): Promise<void> {
  await tx
    .updateTable("load_balancer")
    .set({
      ...changes,
      generation: sql<number>`generation + 1`,
      observed_generation: sql<number>`observed_generation + (observed_generation = generation)::integer`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", organisation_id)
    .where("id", "=", id)
    .execute();
}
