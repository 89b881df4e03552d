import type { JobKind, Schemas } from "@kule/contract/schemas";
import type { SystemAuditAction } from "@kule/contract/system-audit";
import type { DB } from "@kule/database/generated/rows";
import type { JobErrorCode } from "@kule/rules/jobs/region-texts";
import type { PowerState } from "@kule/rules/servers/settle";
import { type Selectable, sql } from "kysely";
import { crashPoint } from "./crash-points.ts";
import type { Tx } from "./database.ts";
import { newId } from "./ids.ts";
import { send, sendAhead } from "./transaction.ts";

export type JobRow = Selectable<DB["job"]>;

/** Which job it is, and of which resource: never changes. */
export type JobIdentity = Pick<JobRow, "id" | "organisation_id" | "region" | "resource_type" | "resource_id">;

/** The region of a job that has one, as all jobs of servers and networks do. */
export function regionOfJob({ id, region }: Pick<JobRow, "id" | "region">): string {
  if (region === null) throw new Error(`job ${id} is of no region`);
  return region;
}

export type NewJob = {
  readonly kind: JobKind;
  readonly organisationId: string;
  /** Null for a job of the control plane itself. */
  readonly region: string | null;
  readonly resourceType: Schemas["ResourceRef"]["type"];
  readonly resourceId: string;
  readonly requestedBy: Schemas["Actor"];
  readonly requestId: string;
  /** Parameters of the request that are stored nowhere else. Never secrets. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** An earlier job, which this one repairs, has done something that cannot be undone. */
  readonly irreversible?: boolean;
};

/** Why a job ended without success, as the job shows it. */
export type JobError = Schemas["JobError"];

/**
 * Writes a job and its queue entry. Call it in the transaction that writes what the job is to bring about: neither
 * may exist without the other. The resource's row must be locked by this transaction.
 */
export async function queueJob(tx: Tx, job: NewJob): Promise<JobRow> {
  await crashPoint("allocated");
  const id = newId("job");
  const written = send(tx, jobInsert(tx, id, job, {}));
  await crashPoint("job-written");
  addQueueEntry(tx, id);
  const [row] = await written;
  await crashPoint("queued");
  return row as JobRow;
}

/** The end of every job adds one row to the audit trail, in the transaction that ends it. */
export function noteJobEnd(
  tx: Tx,
  job: JobRow,
  status: "succeeded" | "failed" | "cancelled",
  code: string | null,
): void {
  const byAgent = job.status === "running" && job.agent_token_id !== null;
  const row = tx.insertInto("audit").values({
    id: newId("aud"),
    organisation_id: job.organisation_id,
    region: job.region,
    actor_type: byAgent ? "agent" : "system",
    actor_id: byAgent ? job.agent_token_id : null,
    // Its organisation reads this, and an agent may call itself anything.
    actor_name: byAgent ? `agent of ${job.region}` : null,
    action: "job.end" satisfies SystemAuditAction,
    resource: job.id,
    outcome: status === "succeeded" ? "succeeded" : "failed",
    http_status: 200,
    code,
    request_id: job.request_id,
    source_address: null,
    details: JSON.stringify({ kind: job.kind, status, resource: job.resource_id }),
  });
  sendAhead(tx, row);
}

/** Writes a job that has already ended, because the region has nothing to do. */
export async function recordDoneJob(tx: Tx, job: NewJob): Promise<JobRow> {
  await crashPoint("allocated");
  const [row] = await send(
    tx,
    jobInsert(tx, newId("job"), job, {
      status: "succeeded",
      progress: 100,
      started_at: sql<Date>`clock_timestamp()`,
      finished_at: sql<Date>`clock_timestamp()`,
    }),
  );
  await crashPoint("job-written");
  noteJobEnd(tx, row as JobRow, "succeeded", null);
  return row as JobRow;
}

type Ended = {
  readonly status?: "succeeded";
  readonly progress?: number;
  readonly started_at?: ReturnType<typeof sql<Date>>;
  readonly finished_at?: ReturnType<typeof sql<Date>>;
};

function jobInsert(tx: Tx, id: string, job: NewJob, ended: Ended) {
  return tx
    .insertInto("job")
    .values({
      id,
      organisation_id: job.organisationId,
      region: job.region,
      kind: job.kind,
      resource_type: job.resourceType,
      resource_id: job.resourceId,
      requested_by: JSON.stringify(job.requestedBy),
      request_id: job.requestId,
      parameters: JSON.stringify(job.parameters ?? {}),
      irreversible: job.irreversible ?? false,
      ...ended,
    })
    .returningAll();
}

function addQueueEntry(tx: Tx, jobId: string): void {
  sendAhead(tx, sql`select kule_queue_add(${jobId})`);
}

export type OpenJobs = { readonly running: JobRow | null; readonly queued: JobRow | null };

/** The open jobs of a resource, locked. The resource's row must be locked first, here and everywhere. */
export async function lockOpenJobs(tx: Tx, organisationId: string, resourceId: string): Promise<OpenJobs> {
  const rows = await tx
    .selectFrom("job")
    .selectAll()
    .where("organisation_id", "=", organisationId)
    .where("resource_id", "=", resourceId)
    .where("status", "in", ["queued", "running"])
    .forUpdate()
    .execute();
  return {
    running: rows.find((row) => row.status === "running") ?? null,
    queued: rows.find((row) => row.status === "queued") ?? null,
  };
}

/** Ends a queued job: another one takes its place in the queue, or it is no longer wanted. */
export function cancelQueuedJob(tx: Tx, job: JobRow, code: JobErrorCode, message: string): void {
  const error: JobError = { code, message, step: null, retryable: false };
  const ended = tx
    .updateTable("job")
    .set({ status: "cancelled", finished_at: sql<Date>`clock_timestamp()`, error: JSON.stringify(error) })
    .where("organisation_id", "=", job.organisation_id)
    .where("id", "=", job.id)
    .where("status", "=", "queued");
  sendAhead(tx, ended);
  sendAhead(tx, sql`select kule_queue_finish(${job.id}, ${job.epoch})`);
  noteJobEnd(tx, job, "cancelled", code);
}

/**
 * Asks the holder of a running job to stop at its next step. The holder reads the request in the answer to
 * its next report.
 */
export async function requestCancel(tx: Tx, job: JobRow): Promise<JobRow> {
  return tx
    .updateTable("job")
    .set({ cancel_requested: true })
    .where("organisation_id", "=", job.organisation_id)
    .where("id", "=", job.id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/**
 * Queues a job that ended without success again, as if it were new; it observes what it did so far. What
 * cannot be undone stays recorded: an attempt that fails before its first observation cannot report a
 * destroyed disk.
 */
export async function requeueEndedJob(tx: Tx, job: JobRow): Promise<JobRow> {
  await crashPoint("allocated");
  const row = await tx
    .updateTable("job")
    .set({
      status: "queued",
      attempt: 0,
      phase: null,
      progress: 0,
      run_at: sql<Date>`clock_timestamp()`,
      cancel_requested: false,
      error: null,
      internal_error: null,
      result: null,
      // A retried job may have as many steps as a new one.
      step_count: 0,
      finished_at: null,
    })
    .where("organisation_id", "=", job.organisation_id)
    .where("id", "=", job.id)
    .where("status", "in", ["failed", "cancelled"])
    .returningAll()
    .executeTakeFirstOrThrow();
  await crashPoint("job-written");
  addQueueEntry(tx, row.id);
  await crashPoint("queued");
  return row;
}

/** The observation of the last attempt, for a job that waits for its next one. */
export function seenByLastAttempt(job: Pick<JobRow, "result">): {
  readonly power: PowerState | null;
  readonly diskBytes: number | null;
} {
  const { power_state = null, disk_bytes = null } = (job.result ?? {}) as {
    power_state?: PowerState;
    disk_bytes?: number | null;
  };
  return { power: power_state, diskBytes: disk_bytes };
}
