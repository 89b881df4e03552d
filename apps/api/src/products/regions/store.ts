import type { RequestQuery, Schemas } from "@kule/contract/schemas";
import type { Region } from "@kule/database/generated/rows";
import { type Insertable, type RawBuilder, type Selectable, sql } from "kysely";
import { type Database, systemQuery, type Tx } from "../../platform/database.ts";
import { fetchPage, newestFirst, type Page } from "../../platform/pagination.ts";

export type RegionRow = Selectable<Region> & {
  /** How old the last health report is by Postgres' clock; null before the first. */
  readonly report_age_seconds: number | null;
};

/** A region with the details for operators. */
export type RegionDetails = RegionRow & {
  readonly restricted_to: string[];
  readonly jobs_queued: number;
  readonly jobs_running: number;
  /** Namespaces on its edge of networks that there are not. */
  readonly unknown_networks: string[];
  /** Those that reported in the last minute. */
  readonly agents: RegionAgent[];
  /** Its part in the open rollout of an agent release. */
  readonly rollout: Schemas["Region"]["rollout"];
};

/** A row of `region_agent` as JSON. */
export type RegionAgent = {
  readonly token_id: string;
  readonly name: string;
  readonly version: string;
  readonly architecture: Schemas["AgentArchitecture"] | null;
  readonly can_update: boolean;
  readonly update_report: Schemas["AgentUpdate"] | null;
  readonly reported_at: string;
};

/** The agents of a region that reported in the last minute: what has been silent for longer may be gone for good. */
export const reportingAgents = (region: RawBuilder<unknown>): RawBuilder<RegionAgent[]> => sql`coalesce((
  select json_agg(agent order by agent.name, agent.reported_at)
    from (select token_id, name, version, architecture, can_update, update_report, reported_at
            from region_agent
           where region_agent.region = ${region} and reported_at > clock_timestamp() - interval '1 minute'
           order by reported_at desc limit 20) agent), '[]'::json)`;

const openRollout = sql<RegionDetails["rollout"]>`(
  select json_build_object('id', rollout.id, 'version', rollout.version, 'state', part.state)
    from agent_rollout rollout
    join agent_rollout_region part on part.rollout_id = rollout.id and part.region = region.slug
   where rollout.id = (select id from agent_rollout where status in ('running', 'paused', 'stopped')))`;

const reportAge = sql<number | null>`extract(epoch from now() - region.health_at)::float8`.as(
  "report_age_seconds",
);

function details(db: Database | Tx) {
  return systemQuery(db, "operators see how many jobs a region has")
    .selectFrom("region")
    .selectAll("region")
    .select([
      reportAge,
      sql<
        string[]
      >`array(select organisation_id from region_organisation o where o.region = region.slug order by 1)`.as(
        "restricted_to",
      ),
      sql<number>`(select count(*)::integer from job where job.region = region.slug and job.status = 'queued')`.as(
        "jobs_queued",
      ),
      sql<number>`(select count(*)::integer from job where job.region = region.slug and job.status = 'running')`.as(
        "jobs_running",
      ),
      sql<string[]>`array(
        select seen.id from jsonb_array_elements_text(coalesce(region.edge -> 'networks', '[]'::jsonb)) as seen (id)
         where not exists (select 1 from network n where n.id = seen.id and n.region = region.slug) order by 1)`.as(
        "unknown_networks",
      ),
      reportingAgents(sql.ref("region.slug")).as("agents"),
      openRollout.as("rollout"),
    ]);
}

export function listRegions(db: Database, query: RequestQuery<"listRegions">): Promise<Page<RegionDetails>> {
  const paging = newestFirst("regions", query, "region");
  return fetchPage(details(db), {
    ...paging,
    direction: "asc",
    keys: [
      { column: "region.created_at", kind: "time" },
      { column: "region.slug", kind: "text" },
    ],
  });
}

export async function findRegion(db: Database | Tx, slug: string): Promise<RegionDetails | null> {
  const row = await details(db).where("region.slug", "=", slug).executeTakeFirst();
  return row ?? null;
}

export async function lockRegion(tx: Tx, slug: string): Promise<Selectable<Region> | null> {
  const row = await tx
    .selectFrom("region")
    .selectAll()
    .where("slug", "=", slug)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

export async function insertRegion(tx: Database | Tx, values: Insertable<Region>): Promise<void> {
  await tx.insertInto("region").values(values).execute();
}

export type RegionChanges = {
  name?: string;
  country?: string | null;
  maintenance?: boolean;
  restricted?: boolean;
  vmid_first?: number;
  vmid_last?: number;
  vlan_first?: number;
  vlan_last?: number;
};

/** @param statusChanges whether `status_since` is now */
export async function updateRegionRow(
  tx: Tx,
  slug: string,
  changes: RegionChanges,
  statusChanges: boolean,
): Promise<void> {
  await tx
    .updateTable("region")
    .set({
      ...changes,
      ...(statusChanges ? { status_since: sql<Date>`clock_timestamp()` } : {}),
      generation: sql<number>`generation + 1`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("slug", "=", slug)
    .execute();
}

/** Sets the organisations that see the region to exactly these. */
export async function replaceRestriction(
  tx: Database | Tx,
  slug: string,
  organisationIds: readonly string[],
): Promise<void> {
  const restriction = systemQuery(tx, "operators say which organisations see a region");
  await restriction.deleteFrom("region_organisation").where("region", "=", slug).execute();
  if (organisationIds.length === 0) return;
  await restriction
    .insertInto("region_organisation")
    .values(organisationIds.map((organisation_id) => ({ region: slug, organisation_id })))
    .execute();
}

/** Waiting claims check again: jobs can be claimed again. */
export async function wakeRegion(tx: Tx, slug: string): Promise<void> {
  await sql`select pg_notify('kule_region', ${slug})`.execute(tx);
}

/** The regions an organisation may use, by slug. */
export function listVisibleRegions(db: Database | Tx, organisationId: string): Promise<RegionRow[]> {
  return db
    .selectFrom("region")
    .selectAll("region")
    .select(reportAge)
    .where((is) =>
      is.or([
        is("region.restricted", "=", false),
        is.exists(
          is
            .selectFrom("region_organisation")
            .select("region_organisation.region")
            .whereRef("region_organisation.region", "=", "region.slug")
            .where("region_organisation.organisation_id", "=", organisationId),
        ),
      ]),
    )
    .orderBy("region.slug")
    .execute();
}
