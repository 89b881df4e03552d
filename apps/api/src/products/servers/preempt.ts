import { isPreemptedByInterfaceJobs } from "@kule/rules/jobs/actions";
import { grownDiskGb } from "@kule/rules/servers/disk";
import type { ServerStatus } from "@kule/rules/servers/lifecycle";
import { type PowerState, type ServerJobKind, settleServer } from "@kule/rules/servers/settle";
import type { Tx } from "../../platform/database.ts";
import { cancelQueuedJob, type JobRow, lockOpenJobs, seenByLastAttempt } from "../../platform/jobs.ts";
import { openUsage, recordUsage, serverUsage } from "../usage/index.ts";
import { leaveFilter } from "./filter-state.ts";
import type { ResizeParameters } from "./payload.ts";
import { returnGrowth } from "./resize-server.ts";
import { wipeSecret } from "./server-secret.ts";
import { lockServer, type ServerRow } from "./store.ts";
import { diskOf } from "./view.ts";

/**
 * Ends the round of its firewalls that waits for the server, if one does: the job that is about to be written brings the
 * rules along. The server's row must be locked.
 */
export async function passWaitingRules(tx: Tx, organisationId: string, serverId: string): Promise<void> {
  const { queued } = await lockOpenJobs(tx, organisationId, serverId);
  if (queued === null || !isPreemptedByInterfaceJobs(queued.kind)) return;
  const server = await lockServer(tx, organisationId, serverId);
  if (server === null) throw new Error(`job ${queued.id} has no server`);
  await preemptQueuedJob(tx, server, queued, "A job that brings the rules along was asked for");
}

/**
 * Ends a queued job of the server that another one supersedes. The other one decides the server's transition;
 * this records what the ended one leaves behind: its quota, its secret, and what its last attempt observed.
 *
 * @returns the server as it is now
 */
export async function preemptQueuedJob(
  tx: Tx,
  server: ServerRow,
  job: JobRow,
  message: string,
): Promise<ServerRow> {
  cancelQueuedJob(tx, job, "superseded", message);
  const { power, diskBytes } = seenByLastAttempt(job);
  const isResize = job.kind === "ServerResize";
  const disk_gb = isResize
    ? grownDiskGb(diskOf(server), (job.parameters as ResizeParameters).disk_gb, diskBytes)
    : null;
  const settled = settleServer(
    job.kind as ServerJobKind,
    {
      status: server.status as ServerStatus,
      powerState: server.power_state as PowerState,
      wantsRunning: server.power_state === "on",
      ...(await openUsage(tx, server.organisation_id, server.id)),
      hasSuccessor: true,
      isIrreversible: job.irreversible,
      // Where it goes is the other's.
      diskIsBroken: false,
      diskHasGrown: disk_gb !== null,
    },
    { status: "cancelled", power, message },
  );
  const left: ServerRow = {
    ...server,
    power_state: settled.powerState,
    ...(disk_gb === null ? {} : { disk_gb }),
    ...(isResize ? { resize_package: null, resize_disk_gb: null } : {}),
  };
  const { power_state, resize_package, resize_disk_gb } = left;
  await tx
    .updateTable("server")
    .set({ power_state, disk_gb: left.disk_gb, resize_package, resize_disk_gb })
    .where("organisation_id", "=", server.organisation_id)
    .where("id", "=", server.id)
    .execute();
  await leaveFilter(tx, server, job);
  if (settled.wipesSecret) wipeSecret(tx, server);
  recordUsage(tx, settled.usage, serverUsage(left, job));
  if (isResize) {
    // A scan of the region locks the organisation's row before the growth, and so does this.
    await tx
      .selectFrom("organisation")
      .select("id")
      .where("id", "=", server.organisation_id)
      .forUpdate()
      .executeTakeFirstOrThrow();
    await returnGrowth(tx, server, job, left);
  }
  return left;
}
