import { noCapacityIn } from "@kule/rules/servers/preconditions";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { type JobRow, lockOpenJobs } from "../../platform/jobs.ts";
import { isNothingThere, placeServerAgain } from "../inventory/index.ts";
import { refuseConflicts } from "./answers.ts";
import type { ServerHooks } from "./hooks.ts";
import type { ResizeParameters } from "./payload.ts";
import { preemptQueuedJob } from "./preempt.ts";
import { additionalQuota, planOf, takeGrowth } from "./resize-server.ts";
import { lockServer, type ServerRow } from "./store.ts";
import { diskOf } from "./view.ts";

const statuses: { readonly [kind: string]: string } = {
  ServerCreate: "creating",
  ServerAdopt: "creating",
  ServerResize: "resizing",
  ServerRebuild: "rebuilding",
};

/** Only what the rules for a retry pass over can be there. */
export async function preempt(tx: Tx, job: JobRow): Promise<void> {
  const { queued } = await lockOpenJobs(tx, job.organisation_id, job.resource_id);
  if (queued === null) return;
  const server = await lockServer(tx, job.organisation_id, job.resource_id);
  if (server === null) throw new Error(`job ${job.id} has no server`);
  await preemptQueuedJob(tx, server, queued, "A job that brings the rules along is tried again");
}

/**
 * A retried job starts its server's transition again; a stop and a destroy never ended it.
 *
 * @throws Conflict when quotas or capacity no longer suffice
 */
export async function retried(
  tx: Tx,
  job: JobRow,
  ended: JobRow,
  hooks: readonly ServerHooks[],
): Promise<void> {
  for (const hook of hooks) await hook.retried?.(tx, job);
  const status =
    job.kind === "ServerRestore"
      ? sql<string>`case restores_to when 'running' then 'starting' else 'stopped' end`
      : statuses[job.kind];
  await tx
    .updateTable("server")
    .set({
      ...(status === undefined ? {} : { status }),
      ...(await takenAgain(tx, job, ended)),
      status_code: null,
      status_message: null,
      status_job_id: null,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", job.organisation_id)
    .where("id", "=", job.resource_id)
    .execute();
}

async function takenAgain(tx: Tx, job: JobRow, ended: JobRow): Promise<Partial<ServerRow>> {
  if (job.kind !== "ServerResize" && job.kind !== "ServerCreate") return {};
  const server = await lockServer(tx, job.organisation_id, job.resource_id);
  if (server === null) throw new Error(`job ${job.id} has no server`);
  return job.kind === "ServerCreate"
    ? { node: await nodeAgain(tx, server, ended) }
    : grownAgain(tx, server, job);
}

/** Its failure released what it was to use: another server may have that now. */
async function grownAgain(tx: Tx, server: ServerRow, job: JobRow): Promise<Partial<ServerRow>> {
  const { package: slug, disk_gb } = job.parameters as ResizeParameters;
  refuseConflicts(await takeGrowth(tx, server, planOf(slug), disk_gb));
  return additionalQuota(slug, disk_gb);
}

/** The node it goes to now. As long as there may be a VM of it, that is the node it was placed on. */
async function nodeAgain(tx: Tx, server: ServerRow, ended: JobRow): Promise<string | null> {
  const wasAssigned = ended.epoch > 0;
  if (wasAssigned && !(ended.finished_at !== null && (await isNothingThere(tx, server, ended.finished_at))))
    return server.node;
  const need = { ...planOf(server.package), diskGb: diskOf(server) };
  const placed = await placeServerAgain(tx, server, need);
  refuseConflicts(placed.fits ? [] : [noCapacityIn(server.region, server.package)]);
  return placed.fits ? placed.node : server.node;
}
