import { IntentIndex } from "@kule/rules/networks/intent-index";
import type { Tx } from "../../platform/database.ts";
import { queueFilterRefresh } from "../../platform/filter-refresh.ts";
import { newId } from "../../platform/ids.ts";
import type { JobEnd } from "../../platform/job-handler.ts";
import { type JobRow, lockOpenJobs } from "../../platform/jobs.ts";
import { digestOfFilter, noFilter, storedDigest, unknownFilter } from "../inventory/index.ts";
import { writesFilter } from "../servers/index.ts";
import { filterOf, storedFilterId } from "./filter.ts";
import { loadIntent } from "./intent.ts";
import { canGetFilterJob, queueFirewallJob } from "./refresh.ts";

/** The server as its row was when its job ended, with the status that it has by now. */
export type SettledServer = {
  readonly id: string;
  readonly organisation_id: string;
  readonly region: string;
  readonly status: string;
  readonly observed_generation: number;
  readonly filter_wanted: string;
  readonly filter_applied: string;
  readonly filter_failed: boolean;
};

/** Jobs after which other servers' rules may mean other addresses. */
const moves: ReadonlySet<string> = new Set([
  "ServerCreate",
  "ServerAdopt",
  "ServerDestroy",
  "PublicIpAttach",
  "PublicIpDetach",
]);

/**
 * Records what the end of any job of a server that may be filtered means for its filter, and queues another job for what is
 * missing. So changes while a job runs, in whichever order, are applied in the end.
 */
export async function settleFilter(tx: Tx, server: SettledServer, job: JobRow, end: JobEnd): Promise<void> {
  const { organisation_id: organisationId, region } = server;
  if (moves.has(job.kind) && end.status === "succeeded") await queueFilterRefresh(tx, organisationId, region);
  if (server.status === "deleted") {
    await tx
      .deleteFrom("firewall_attachment")
      .where("organisation_id", "=", organisationId)
      .where("server_id", "=", server.id)
      .execute();
    return;
  }
  const index = new IntentIndex(await loadIntent(tx, organisationId, region));
  const filter = filterOf(index, server.id);
  const wanted = storedFilterId(filter.id);
  const applied = appliedBy(server, job, end);
  const hasFailed = job.kind === "FirewallApply" && end.status !== "succeeded";
  const isFailed =
    applied !== wanted && (hasFailed || (server.filter_failed && wanted === server.filter_wanted));
  await tx
    .updateTable("server")
    .set({
      filter_wanted: wanted,
      filter_applied: applied,
      filter_failed: isFailed,
      // Of a filter other than this one the rules are no longer known.
      filter_digest:
        applied === wanted && wanted !== noFilter
          ? storedDigest(digestOfFilter(filter, index.server(server.id).interfaces.length))
          : null,
    })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", server.id)
    .execute();
  if (applied === wanted || isFailed || !canGetFilterJob(server)) return;
  const { queued, running } = await lockOpenJobs(tx, organisationId, server.id);
  if (queued !== null || running !== null) return;
  await queueFirewallJob(tx, {
    organisationId,
    region,
    serverId: server.id,
    by: {
      requestedBy: { type: "system", id: null, name: `after ${job.id}` },
      requestId: newId("req"),
    },
  });
}

function appliedBy(server: SettledServer, job: JobRow, end: JobEnd): string {
  if (!writesFilter(job)) return server.filter_applied;
  if (end.status === "succeeded") return storedFilterId(end.filter ?? null);
  // A job that never ran has written nothing; one that ran may have written a part.
  return job.epoch === 0 ? server.filter_applied : unknownFilter;
}

/** A job that was to bring the filter is tried again. */
export async function retryFilter(tx: Tx, job: JobRow): Promise<void> {
  if (job.kind !== "FirewallApply") return;
  await tx
    .updateTable("server")
    .set({ filter_failed: false })
    .where("organisation_id", "=", job.organisation_id)
    .where("id", "=", job.resource_id)
    .execute();
}
