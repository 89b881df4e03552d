import { noRoomIn } from "@kule/rules/servers/preconditions";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { type JobRow, lockOpenJobs } from "../../platform/jobs.ts";
import { retryFilter } from "../firewalls/index.ts";
import { isNothingThere, placeServerAgain } from "../inventory/index.ts";
import { retryPublicIps } from "../public-ips/settle.ts";
import { refuseConflicts } from "./answers.ts";
import { giveWay } from "./give-way.ts";
import type { ResizeParameters } from "./payload.ts";
import { planOf, takeGrowth, takenAlong } from "./resize-server.ts";
import { lockServer, type ServerRow } from "./store.ts";
import { diskOf } from "./view.ts";

const statuses: { readonly [kind: string]: string } = {
  ServerCreate: "creating",
  ServerAdopt: "creating",
  ServerResize: "resizing",
  ServerRebuild: "rebuilding",
};

/** Only what the rules for a retry pass over can be there. */
export async function makeWay(tx: Tx, job: JobRow): Promise<void> {
  const { queued } = await lockOpenJobs(tx, job.organisation_id, job.resource_id);
  if (queued === null) return;
  const server = await lockServer(tx, job.organisation_id, job.resource_id);
  if (server === null) throw new Error(`job ${job.id} has no server`);
  await giveWay(tx, server, queued, "A job that brings the rules along is tried again");
}

/**
 * A job that is tried again takes its server on its way once more; a stop and a destroy never took the status away.
 *
 * @throws Conflict when there is no room any more for what it takes
 */
export async function retried(tx: Tx, job: JobRow, ended: JobRow): Promise<void> {
  await retryPublicIps(tx, job);
  await retryFilter(tx, job);
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

/** Its failure gave back what it was to take: somebody else may have that now. */
async function grownAgain(tx: Tx, server: ServerRow, job: JobRow): Promise<Partial<ServerRow>> {
  const { package: slug, disk_gb } = job.parameters as ResizeParameters;
  refuseConflicts(await takeGrowth(tx, server, planOf(slug), disk_gb));
  return takenAlong(slug, disk_gb);
}

/** Where it goes now. As long as there may be a VM of it, that is where it was to go. */
async function nodeAgain(tx: Tx, server: ServerRow, ended: JobRow): Promise<string | null> {
  const wasHandedOut = ended.epoch > 0;
  if (wasHandedOut && !(ended.finished_at !== null && (await isNothingThere(tx, server, ended.finished_at))))
    return server.node;
  const need = { ...planOf(server.package), diskGb: diskOf(server) };
  const placed = await placeServerAgain(tx, server, need);
  refuseConflicts(placed.fits ? [] : [noRoomIn(server.region, server.package)]);
  return placed.fits ? placed.node : server.node;
}
