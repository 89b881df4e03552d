import type { Key } from "./keys.ts";
import type { Queryable } from "./run-checks.ts";

export type RecentValues = Readonly<Record<NonNullable<Key["recent"]>, readonly string[]>>;

/** So many jobs and events at most; what is more is read with its slice. */
const most = 5_000;
const mostSubnets = 100;
const mostOrganisations = 20;

/**
 * What changed lately: the jobs that were requested since the last pass and in the hour before it, those that are open, and
 * what they are for. Nothing changes a server, its numbers or its usage without a job. Read by indexes from their ends.
 *
 * @param since the last pass, in Postgres' text; null: there was none
 */
export async function recentValues(client: Queryable, since: string | null): Promise<RecentValues> {
  const after = since === null ? "'-infinity'::timestamptz" : `'${since}'::timestamptz - interval '1 hour'`;
  const columns = "id, organisation_id, resource_type, resource_id";
  const { rows } = await client.query(`
    with jobs as materialized (
      (select ${columns} from job where created_at > ${after} order by created_at desc limit ${most})
      union (select ${columns} from job where status = 'running' limit ${most})
      union (select ${columns} from job where status = 'queued' limit ${most}))
    select 'jobs' as what, id as value from jobs
    union all
    select distinct 'servers', resource_id from jobs where resource_type = 'server'
    union all
    (select distinct 'subnets', n.subnet_id from jobs j join nic n on n.server_id = j.resource_id limit ${mostSubnets})
    union all
    (select distinct 'organisations', organisation_id from jobs limit ${mostOrganisations})
    union all
    select distinct 'metered', resource_id
      from (select resource_id, at from usage_event order by id desc limit ${most}) last where at > ${after}
    union all
    select 'segments', id
      from (select id, started_at from usage_segment order by id desc limit ${most}) last where started_at > ${after}`);
  const of = (what: keyof RecentValues) =>
    rows.filter((row) => row.what === what).map((row) => row.value as string);
  return {
    jobs: of("jobs"),
    servers: of("servers"),
    subnets: of("subnets"),
    organisations: of("organisations"),
    metered: of("metered"),
    segments: of("segments"),
  };
}
