import { writeTheFilter } from "@kule/rules/jobs/actions";
import { IntentIndex } from "@kule/rules/networks/intent-index";
import type { Tx } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";
import type { JobEnd } from "../../platform/job-handler.ts";
import { type JobRow, lockOpenJobs } from "../../platform/jobs.ts";
import { digestOfFilter, filterOf, noFilter, storedDigest, storedFilterId, unknownFilter } from "./filter.ts";
import { loadIntent } from "./intent.ts";
import { askForRefresh, mayBeTold, queueFirewallJob } from "./refresh.ts";
import { hasAttachments } from "./store.ts";

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

const writes: ReadonlySet<string> = new Set(writeTheFilter);
/** Jobs after which other servers' rules may mean other addresses. */
const moves: ReadonlySet<string> = new Set([
  "ServerCreate",
  "ServerAdopt",
  "ServerDestroy",
  "PublicIpAttach",
  "PublicIpDetach",
]);

/**
 * Writes what the end of any job of a server means for its filter, and has another job do what is missing. So it does
 * not matter what was changed while the job ran, or before another change was seen.
 */
export async function settleFilter(tx: Tx, server: SettledServer, job: JobRow, end: JobEnd): Promise<void> {
  const { organisation_id: organisationId, region } = server;
  if (!(await isFiltered(tx, server))) return;
  if (moves.has(job.kind) && end.status === "succeeded") await askForRefresh(tx, organisationId, region);
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
      // Of another filter than this one nobody knows any more which rules were in it.
      filter_digest:
        applied === wanted && wanted !== noFilter
          ? storedDigest(digestOfFilter(filter, index.server(server.id).interfaces.length))
          : null,
    })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", server.id)
    .execute();
  if (applied === wanted || isFailed || !mayBeTold(server)) return;
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
  if (!writes.has(job.kind)) return server.filter_applied;
  if (end.status === "succeeded") return storedFilterId(end.filter ?? null);
  // A job that never ran has written nothing; one that ran may have written half.
  return job.epoch === 0 ? server.filter_applied : unknownFilter;
}

/**
 * A job of the server that waits is ended without ever settling it: what an attempt at it has written of the filter stays
 * on the VM, and nobody knows how much that is. What the rules' own job was to do nobody has done, even where it was only
 * to look again.
 */
export async function leaveFilter(
  tx: Tx,
  server: Pick<SettledServer, "id" | "organisation_id" | "region" | "filter_wanted" | "filter_applied">,
  job: JobRow,
): Promise<void> {
  if (!writes.has(job.kind) || (job.epoch === 0 && job.kind !== "FirewallApply")) return;
  if (!(await isFiltered(tx, server))) return;
  await tx
    .updateTable("server")
    .set({ filter_applied: unknownFilter })
    .where("organisation_id", "=", server.organisation_id)
    .where("id", "=", server.id)
    .execute();
}

/** Some firewall may have, or have had, something to do with it. */
async function isFiltered(
  tx: Tx,
  server: Pick<SettledServer, "organisation_id" | "region" | "filter_wanted" | "filter_applied">,
): Promise<boolean> {
  const isKnown = server.filter_wanted !== noFilter || server.filter_applied !== noFilter;
  return isKnown || hasAttachments(tx, server.organisation_id, server.region);
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
