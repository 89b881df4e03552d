import type { JobKind, Schemas } from "@kule/contract/schemas";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { type JobRow, queueJob } from "../../platform/jobs.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { viewWrittenJob } from "../jobs/index.ts";
import { findServer, viewServer } from "../servers/index.ts";
import { findPublicIp } from "./store.ts";
import { viewPublicIp } from "./view.ts";

/** A job that waits for another server's job is not claimed before this time; `callJob` releases it. */
const notYet = sql<Date>`timestamptz '9999-01-01'`;

export type PublicIpJob = {
  readonly organisationId: string;
  readonly region: string;
  readonly serverId: string;
  readonly by: { readonly requestedBy: Schemas["Actor"]; readonly requestId: string };
  /** Until the address is removed from the server that has it. */
  readonly waits?: boolean;
};

/** Queues a job that applies the wanted public interface to the server. The server's row must be locked. */
export async function queuePublicIpJob(
  tx: Tx,
  kind: "PublicIpAttach" | "PublicIpDetach",
  { organisationId, region, serverId, by, waits = false }: PublicIpJob,
): Promise<JobRow> {
  const job = await queueJob(tx, {
    kind,
    organisationId,
    region,
    resourceType: "server",
    resourceId: serverId,
    ...by,
  });
  return waits ? setRunAt(tx, job, notYet) : job;
}

/** Makes a waiting job claimable now. */
export async function callJob(tx: Tx, job: JobRow): Promise<void> {
  await setRunAt(tx, job, sql<Date>`clock_timestamp()`);
}

async function setRunAt(tx: Tx, job: JobRow, runAt: typeof notYet): Promise<JobRow> {
  const row = await tx
    .updateTable("job")
    .set({ run_at: runAt })
    .where("organisation_id", "=", job.organisation_id)
    .where("id", "=", job.id)
    .where("status", "=", "queued")
    .returningAll()
    .executeTakeFirstOrThrow();
  // The queue's entry of the same key is updated to the job's time.
  await sql`select kule_queue_add(${job.id})`.execute(tx);
  return row;
}

/** The 202 of a pending address; or, in a dry run, what it would be. */
export async function moved(
  request: ApiRequest,
  tx: Tx,
  publicIpId: string,
  serverId: string,
  job: JobRow,
): Promise<Outcome> {
  const ip = await findPublicIp(tx, request.organisationId, publicIpId);
  const server = await findServer(tx, request.organisationId, serverId);
  if (ip === null || server === null) throw new Error(`${publicIpId} or its server went away`);
  const written = { public_ip: viewPublicIp(ip), server: viewServer(server) };
  if (request.dryRun) {
    const would = { ...written, job_kind: job.kind as JobKind, created: null };
    const body: Schemas["DryRun"] = { dry_run: true, would, blockers: [] };
    return { reply: reply(200, body), resource: null };
  }
  const answer: Schemas["PublicIpAndJob"] = {
    ...written,
    job: await viewWrittenJob(tx, job, request.caller),
  };
  return {
    reply: reply(202, answer, { Link: `</api/v1/jobs/${job.id}>; rel="monitor"` }),
    resource: publicIpId,
    details: { job: job.id, server: serverId, address: ip.address },
  };
}
