import { findViolations } from "@kule/invariants/find-violations";
import type { Violation } from "@kule/invariants/violation";
import pg from "pg";
import { type EdgeView, edgeViolations } from "./edge-invariants.ts";
import { type RegionView, regionViolations, type ServerIntent } from "./region-invariants.ts";
import type { JobRun } from "./repeated-effects.ts";

export type WorldToCheck = {
  /** The owner's connection: the check reads all organisations, and the queue. */
  readonly ownerUrl: string;
  /** Without them only the database is held against itself. */
  readonly regions?: readonly RegionView[];
  readonly edges?: readonly EdgeView[];
};

/**
 * Checks for broken promises: in the database, and between the database and the real state of the regions. A
 * quiet world has none; while jobs run, only what holds at any moment is checked.
 */
export async function worldCheck({ ownerUrl, regions = [], edges = [] }: WorldToCheck): Promise<Violation[]> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    // One snapshot: a job that ends between two of the queries is no violation.
    await client.query("begin isolation level repeatable read read only");
    const violations = await violationsIn(client, regions);
    for (const edge of edges) violations.push(...(await edgeViolations(client, edge)));
    return violations;
  } finally {
    await client.end();
  }
}

/** The same within the caller's transaction. */
export async function violationsIn(
  client: pg.ClientBase,
  regions: readonly RegionView[] = [],
): Promise<Violation[]> {
  const violations = await findViolations(client);
  if (regions.length === 0) return violations;
  const servers = await intents(client);
  const runs = await jobRuns(client);
  return [...violations, ...regions.flatMap((view) => regionViolations(view, servers, runs))];
}

async function jobRuns(client: pg.ClientBase): Promise<JobRun[]> {
  const { rows } = await client.query<JobRun>(`
    select j.id, j.kind, j.region, v.vmid, (extract(epoch from j.started_at) * 1000)::float8 as started_at
      from job j join region_vmid v on v.server_id = j.resource_id and v.region = j.region
     where j.started_at is not null`);
  return rows;
}

async function intents(client: pg.ClientBase): Promise<ServerIntent[]> {
  const { rows } = await client.query<ServerIntent>(`
    select s.id, s.organisation_id, s.region, s.status, v.vmid, n.mac::text as mac, l.vlan, host(a.address) as address,
           exists (select 1 from job j where j.resource_id = s.id and j.status in ('queued', 'running')) as has_open_job,
           (extract(epoch from s.purge_at) * 1000)::float8 as purge_at
      from server s
      left join region_vmid v on v.server_id = s.id and v.region = s.region and v.state = 'used'
      left join nic n on n.server_id = s.id and n.position = 0
      left join region_vlan l on l.subnet_id = n.subnet_id
      left join address a on a.nic_id = n.id`);
  return rows;
}
