import type { Schemas } from "@kule/contract/schemas";
import type { RegionInventory } from "@kule/database/generated/rows";
import { type Selectable, sql } from "kysely";
import { systemQuery, type Tx } from "../../platform/database.ts";

/** An agent that has sent nothing for this long has abandoned its scan; another agent may scan. */
const abandonedAfterSeconds = 60;

/** How many numbers an agent is asked to query in one scan. */
const mostToQuery = 500;

export type PassRow = Selectable<RegionInventory>;
type Report = Schemas["InventoryReport"];
type Ack = Schemas["InventoryAck"];

/**
 * Begins a scan of the region: its number invalidates every batch of earlier ones. Of several agents one
 * scans at a time; an agent that begins again replaces its own scan.
 */
export async function beginPass(tx: Tx, region: string, report: Report): Promise<Ack> {
  const everySeconds = report.every_seconds ?? 30;
  await tx
    .insertInto("region_inventory")
    .values({ region })
    .onConflict((conflict) => conflict.column("region").doNothing())
    .execute();
  const { agent_run, is_open, sinceSign, sinceEnd } = await tx
    .selectFrom("region_inventory")
    .select([
      "agent_run",
      "is_open",
      sql<number>`coalesce(extract(epoch from clock_timestamp() - renewed_at), 1e9)::float8`.as("sinceSign"),
      sql<number>`coalesce(extract(epoch from clock_timestamp() - ended_at), 1e9)::float8`.as("sinceEnd"),
    ])
    .where("region", "=", region)
    .forUpdate()
    .executeTakeFirstOrThrow();
  const isOthers = agent_run !== report.agent_run;
  const later = (seconds: number): Ack => ({
    pass: null,
    recorded: false,
    look_for: [],
    next_in_seconds: Math.max(1, Math.ceil(seconds)),
  });
  if (isOthers && is_open && sinceSign < abandonedAfterSeconds) return later(everySeconds);
  // Two agents share the scans of one region instead of doubling them.
  if (isOthers && !is_open && sinceEnd < everySeconds) return later(everySeconds - sinceEnd + 1);
  const { pass } = await tx
    .updateTable("region_inventory")
    .set({
      pass: sql<number>`pass + 1`,
      agent_run: report.agent_run,
      agent_name: report.agent_name ?? null,
      began_at: sql<Date>`clock_timestamp()`,
      renewed_at: sql<Date>`clock_timestamp()`,
      is_open: true,
      next_batch: 0,
      every_seconds: everySeconds,
    })
    .where("region", "=", region)
    .returning("pass")
    .executeTakeFirstOrThrow();
  return {
    pass,
    recorded: true,
    look_for: await numbersToLookFor(tx, region),
    next_in_seconds: everySeconds,
  };
}

/** The pass of the report under its lock; null when it is not the region's current one, or not this agent's. */
export async function lockPass(tx: Tx, region: string, report: Report): Promise<PassRow | null> {
  const row = await tx
    .selectFrom("region_inventory")
    .selectAll()
    .where("region", "=", region)
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined || !row.is_open) return null;
  return row.pass === report.pass && row.agent_run === report.agent_run ? row : null;
}

/**
 * Numbers of servers whose VMs were created and that the last complete scan did not find in the region's
 * list.
 */
async function numbersToLookFor(tx: Tx, region: string): Promise<number[]> {
  const { rows } = await sql<{ vmid: number }>`
    select v.vmid from region_vmid v
      join server s on s.id = v.server_id and s.region = v.region and s.organisation_id is not null
      join region_inventory i on i.region = v.region
      left join region_vm m on m.region = v.region and m.vmid = v.vmid
     where v.region = ${region} and v.state = 'used' and s.observed_generation > 0
       and s.status in ('running', 'stopped', 'error', 'pending_deletion') and i.complete_pass is not null
       and (m.vmid is null or m.pass < i.complete_pass or m.state = 'absent')
     order by v.vmid limit ${mostToQuery}`.execute(
    systemQuery(tx, "an agent looks at the servers of all organisations in its region"),
  );
  return rows.map(({ vmid }) => vmid);
}
