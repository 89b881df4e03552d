import type { SystemAuditAction } from "@kule/contract/system-audit";
import { sql } from "kysely";
import { type Database, systemQuery, type Tx } from "../platform/database.ts";
import { newId } from "../platform/ids.ts";
import type { JobHandlers } from "../platform/job-handler.ts";
import type { Settings } from "../platform/settings.ts";
import { inTransaction } from "../platform/transaction.ts";
import { requestLoadBalancerApply } from "../products/load-balancers/index.ts";
import { requestNetworkApply } from "../products/networks/index.ts";
import { endCredentials } from "./end-credentials.ts";
import { resumeOpenJobs } from "./open-jobs.ts";

const why = "a restore is of all organisations";
const byRestore = { type: "system", id: null, name: "restore from a backup" } as const;

/** What the command prints, and what `GET /operator/restore` answers. */
export type RestoreSummary = {
  readonly jobs_ended: number;
  readonly jobs_kept: number;
  readonly sessions_ended: number;
  readonly codes_ended: number;
  readonly tokens_ended: number;
  readonly tokens_valid: number;
};

export type MarkedRestore = RestoreSummary & {
  readonly id: string;
  readonly restored_at: string;
  /** The last change that the backup has. */
  readonly moment: string | null;
  readonly regions: readonly string[];
};

export type Marking = {
  readonly handlers: JobHandlers;
  readonly settings: Settings;
  /** Tokens of organisations and operators are ended, too. */
  readonly endsTokens: boolean;
};

/**
 * Makes a database that was restored from a backup fit to be started with: whatever was claimed, scanned or applied after
 * the moment of the backup is out of date by every counter, nothing is allocated in a region before it was scanned, and
 * nothing is removed before an operator has looked. All of it, or nothing, in one transaction.
 */
export async function markRestored(db: Database, marking: Marking): Promise<MarkedRestore> {
  return inTransaction(db, async (tx) => {
    const { at, floor, moment } = await placeInTime(tx);
    const regions = await closeRegions(tx, at);
    await forgetScans(tx, floor);
    await forgetProcesses(tx);
    await beginBuffersAnew(tx);
    const jobs = await resumeOpenJobs(tx, marking.handlers, marking.settings);
    await applyAll(tx, floor);
    const credentials = await endCredentials(tx, marking.endsTokens);
    const id = newId("rst");
    const summary: RestoreSummary = {
      jobs_ended: jobs.ended,
      jobs_kept: jobs.kept,
      sessions_ended: credentials.sessions,
      codes_ended: credentials.codes,
      tokens_ended: credentials.tokens,
      tokens_valid: credentials.tokensValid,
    };
    await tx
      .insertInto("restore")
      .values({ id, restored_at: at, moment, epoch_floor: floor, summary: JSON.stringify(summary) })
      .execute();
    await noteRestore(tx, id, { moment: moment?.toISOString() ?? null, ...summary });
    return {
      id,
      restored_at: at.toISOString(),
      moment: moment?.toISOString() ?? null,
      regions,
      ...summary,
    };
  });
}

/**
 * Every epoch, pass and generation from here on is greater than any that was given out after the moment of the backup,
 * which nobody knows: seconds pass faster than any of them is counted, also from one restore to the next.
 */
async function placeInTime(tx: Tx): Promise<{ at: Date; floor: number; moment: Date | null }> {
  const { rows } = await sql<{ at: Date; floor: number; moment: Date | null }>`
    select clock_timestamp() as at,
           greatest(extract(epoch from clock_timestamp() - timestamptz '2026-01-01')::integer,
                    (select max(epoch_floor) + 1000000 from restore)) as floor,
           (select max(at) from audit) as moment`.execute(systemQuery(tx, why));
  const [row] = rows;
  if (row === undefined) throw new Error("Postgres answers nothing");
  return row;
}

async function closeRegions(tx: Tx, at: Date): Promise<string[]> {
  const rows = await tx
    .updateTable("region")
    .set({
      restored_at: at,
      restore_scanned_at: null,
      restore_ended_at: null,
      restore_takes_incomplete: false,
      // Of before: nothing is known of an edge until it reports.
      edge_at: null,
      generation: sql<number>`generation + 1`,
    })
    .returning("slug")
    .execute();
  return rows.map(({ slug }) => slug).sort();
}

/** A batch of a scan from before changes nothing, and what was seen then decides nothing. */
async function forgetScans(tx: Tx, floor: number): Promise<void> {
  const db = systemQuery(tx, why);
  await tx
    .updateTable("region_inventory")
    .set({
      pass: sql<number>`greatest(pass, ${floor}::integer)`,
      is_open: false,
      agent_run: null,
      next_batch: 0,
      ended_pass: null,
      ended_at: null,
      ended_complete: null,
      trouble: null,
      complete_pass: null,
      complete_began_at: null,
      capacity: null,
      capacity_at: null,
    })
    .execute();
  await tx.deleteFrom("region_vm").execute();
  await db.deleteFrom("drift").execute();
  await db.deleteFrom("load_balancer_sight").execute();
}

/** Of the processes that ran at the moment none does. */
async function forgetProcesses(tx: Tx): Promise<void> {
  await sql`delete from worker_process`.execute(tx);
  await sql`delete from invariant_report`.execute(tx);
  await tx.deleteFrom("replica").execute();
}

/** A deletion may have been cancelled after the moment: its owner gets the whole time once more. */
async function beginBuffersAnew(tx: Tx): Promise<void> {
  for (const table of ["server", "domain"] as const)
    await sql`
      update ${sql.table(table)} set purge_at = clock_timestamp() + (purge_at - deletion_requested_at)
       where status = 'pending_deletion' and deletion_requested_at is not null`.execute(systemQuery(tx, why));
}

/**
 * Edges and the machines of load balancers have states of after the moment, and refuse older ones: the records' become
 * newer, and are brought to all of them.
 */
async function applyAll(tx: Tx, floor: number): Promise<void> {
  const db = systemQuery(tx, why);
  await sql`
    update network
       set generation = greatest(generation, ${floor}::integer),
           edge_generation = case when edge_generation = 0 then 0 else greatest(generation, ${floor}::integer) end,
           observed_generation = case when on_edge then observed_generation else greatest(generation, ${floor}::integer) end`.execute(
    db,
  );
  const networks = await sql<{ id: string; organisation_id: string }>`
    select n.id, n.organisation_id from network n join region r on r.slug = n.region
     where n.on_edge and r.has_edge and n.status <> 'deleting' order by n.id`.execute(db);
  const by = { requestedBy: byRestore, requestId: newId("req") };
  for (const { id, organisation_id } of networks.rows) {
    await requestNetworkApply(tx, organisation_id, id, by);
  }
  await sql`
    update load_balancer set generation = greatest(generation, ${floor}::integer),
           wanted_generation = greatest(generation, ${floor}::integer)`.execute(db);
  const balancers = await db
    .selectFrom("load_balancer")
    .select(["id", "organisation_id", "region", "network_id"])
    .where("is_deleting", "=", false)
    .orderBy("id")
    .execute();
  for (const balancer of balancers) {
    await requestLoadBalancerApply(tx, balancer, by);
  }
}

async function noteRestore(tx: Tx, id: string, details: object): Promise<void> {
  await systemQuery(tx, "a restore is of no organisation")
    .insertInto("audit")
    .values({
      id: newId("aud"),
      organisation_id: null,
      actor_type: "system",
      actor_id: null,
      actor_name: byRestore.name,
      action: "installation.restore" satisfies SystemAuditAction,
      resource: id,
      outcome: "succeeded",
      http_status: 200,
      code: null,
      request_id: newId("req"),
      source_address: null,
      details: JSON.stringify(details),
    })
    .execute();
}
