import { grownDiskGb } from "@kule/rules/servers/disk";
import type { ServerStatus } from "@kule/rules/servers/lifecycle";
import { macAddress } from "@kule/rules/servers/mac";
import { leavesRunning, type PowerAction } from "@kule/rules/servers/power";
import {
  type PowerState,
  type ServerJobKind,
  type Settlement,
  settleServer,
} from "@kule/rules/servers/settle";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import type { JobEnd, JobHandler } from "../../platform/job-handler.ts";
import { type JobRow, regionOfJob } from "../../platform/jobs.ts";
import type { Settings } from "../../platform/settings.ts";
import { sendAhead } from "../../platform/transaction.ts";
import { isBrokenByRebuild } from "../jobs/index.ts";
import { noteKeysUsed } from "../ssh-keys/index.ts";
import { openUsage, recordUsage, serverUsage } from "../usage/index.ts";
import { releaseAddresses, retireVmid, takeVmid, useVmidAgain } from "./allocations.ts";
import type { ServerHooks } from "./hooks.ts";
import { lockSettledServers } from "./lock-servers.ts";
import {
  type RebuildParameters,
  type ResizeParameters,
  renderServerPayload,
  wasNeverTakenOver,
} from "./payload.ts";
import { returnGrowth } from "./resize-server.ts";
import { preempt, retried } from "./retried.ts";
import { wipeSecret } from "./server-secret.ts";
import { lockServer, type ServerRow } from "./store.ts";
import { takeMacs } from "./take-macs.ts";
import { diskOf } from "./view.ts";

/** The job handler for jobs of servers. */
export const serverJobs = (hooks: readonly ServerHooks[]): JobHandler => ({
  kinds: [
    "ServerCreate",
    "ServerAdopt",
    "ServerStop",
    "ServerRestore",
    "ServerDestroy",
    "ServerPower",
    "ServerResize",
    "PublicIpAttach",
    "PublicIpDetach",
    "ServerRebuild",
    "ServerPasswordReset",
    "ServerUpdate",
    "ServerReconcile",
    "FirewallApply",
  ],
  lockResource: async (tx, job) => {
    const related = hooks.flatMap((hook) => hook.lockRelated?.(tx, job) ?? []);
    lockSettledServers(tx, job, related);
  },
  renderPayload: (tx, job) => renderServerPayload(tx, job, hooks),
  settle: (tx, job, end, settings) => settleServerJob(tx, job, end, settings, hooks),
  preempt,
  retried: (tx, job, ended) => retried(tx, job, ended, hooks),
  replaceVmid,
});

/** Writes what the end of a job means for its server; the rules decide, this only writes. */
async function settleServerJob(
  tx: Tx,
  job: JobRow,
  end: JobEnd,
  settings: Settings,
  hooks: readonly ServerHooks[],
): Promise<void> {
  const { organisation_id, resource_id } = job;
  const region = regionOfJob(job);
  // All that is read, at once: by their locks it stays as it is.
  const [server, usage, hasSuccessor, ...settles] = await Promise.all([
    lockServer(tx, organisation_id, resource_id),
    openUsage(tx, organisation_id, resource_id),
    hasQueuedJob(tx, job),
    ...hooks.map((hook) => hook.settle?.(tx, { id: resource_id, organisation_id, region })),
  ]);
  if (server === null || server.status === "deleted")
    throw new Error(`job ${job.id} has no server to settle`);
  const disk = diskAfter(job, server, end);
  const settled = settleServer(
    job.kind as ServerJobKind,
    {
      status: server.status as ServerStatus,
      powerState: server.power_state as PowerState,
      wantsRunning: wantsRunning(job, server),
      ...usage,
      hasSuccessor,
      isIrreversible: job.irreversible,
      diskIsBroken: job.kind === "ServerPower" && (await isBrokenByRebuild(tx, server)),
      diskHasGrown: disk.disk_gb !== undefined && disk.disk_gb !== diskOf(server),
    },
    end,
  );
  writeSettlement(tx, job, server, settled, end, disk);
  if (settled.wipesSecret) wipeSecret(tx, server);
  if (job.kind === "ServerAdopt" && end.status === "succeeded") await takeMacs(tx, job, server);
  if (settled.releasesAllocations) {
    await releaseAddresses(tx, server, settings.addressQuarantineSeconds);
    // The VM of an import that failed still exists: its number is not allocated, and it may be imported
    // again.
    await retireVmid(tx, server, (await wasNeverTakenOver(tx, server)) ? "quarantined" : "tombstone");
  }
  const resized = { ...server, ...packageAfter(job, end), ...disk };
  recordUsage(tx, settled.usage, serverUsage(resized, job));
  // After the organisation's row, which a create's usage locks: two servers with the same keys wait for each
  // other there.
  if (end.status === "succeeded") noteKeysUsed(tx, server.organisation_id, keysGiven(job, server));
  const { releasesAllocations } = settled;
  for (const settle of settles)
    await settle?.(
      { ...server, ...settledFacts(server, settled) },
      { job, end, settings, releasesAllocations },
    );
  // After the organisation's row, which usage locks: a scan of the region takes the locks in this order, too.
  if (job.kind === "ServerResize" && end.status !== "succeeded") await returnGrowth(tx, server, job, resized);
}

/** The keys that the guest of this job reads at its first boot. */
function keysGiven(job: JobRow, server: ServerRow): readonly string[] {
  if (job.kind === "ServerCreate") return server.ssh_key_ids;
  return job.kind === "ServerRebuild" ? rebuiltAs(job).ssh_key_ids : [];
}

/** The disk that the server has from now on; nothing when it is unchanged. */
function diskAfter(job: JobRow, server: ServerRow, { status, diskBytes = null }: JobEnd) {
  if (job.kind !== "ServerResize") return {};
  const wanted = (job.parameters as ResizeParameters).disk_gb;
  const recorded = status === "succeeded" ? Math.max(wanted, diskOf(server)) : diskOf(server);
  const disk_gb = grownDiskGb(recorded, wanted, diskBytes) ?? recorded;
  return status === "succeeded" || disk_gb !== diskOf(server) ? { disk_gb } : {};
}

function packageAfter(job: JobRow, { status }: JobEnd) {
  return job.kind === "ServerResize" && status === "succeeded"
    ? { package: (job.parameters as ResizeParameters).package }
    : {};
}

/** The facts that the server's filter depends on, after the job. */
function settledFacts(server: ServerRow, { status, isApplied }: Settlement) {
  return { status, observed_generation: isApplied ? server.generation : server.observed_generation };
}

async function hasQueuedJob(tx: Tx, job: JobRow): Promise<boolean> {
  const row = await tx
    .selectFrom("job")
    .select("id")
    .where("organisation_id", "=", job.organisation_id)
    .where("resource_id", "=", job.resource_id)
    .where("status", "=", "queued")
    .executeTakeFirst();
  return row !== undefined;
}

/** Whether the server should run after the job, when the region does not report it. */
function wantsRunning(job: JobRow, server: ServerRow): boolean {
  switch (job.kind) {
    case "ServerCreate":
      return server.start_when_created;
    case "ServerPower":
      return leavesRunning((job.parameters as { action: PowerAction }).action);
    case "ServerResize":
      return (job.parameters as ResizeParameters).run;
    case "ServerRebuild":
      return true;
    case "ServerPasswordReset":
    case "ServerUpdate":
    case "ServerReconcile":
    case "FirewallApply":
      return server.power_state === "on";
    default:
      return server.restores_to === "running";
  }
}

function writeSettlement(
  tx: Tx,
  job: JobRow,
  server: ServerRow,
  settled: Settlement,
  end: JobEnd,
  disk: { readonly disk_gb?: number },
): void {
  const reason =
    settled.reason === "keep"
      ? {}
      : {
          status_code: settled.reason?.code ?? null,
          status_message: settled.reason?.message ?? null,
          status_job_id: settled.reason === null ? null : job.id,
        };
  const isRestored =
    job.kind === "ServerRestore" && settled.isApplied && settled.status !== "pending_deletion";
  const row = tx
    .updateTable("server")
    .set({
      status: settled.status,
      power_state: settled.powerState,
      ...reason,
      ...(settled.restoresTo === null ? {} : { restores_to: settled.restoresTo }),
      ...(isRestored ? { restores_to: null } : {}),
      ...(job.kind === "ServerResize" ? { resize_package: null, resize_disk_gb: null } : {}),
      ...packageAfter(job, end),
      ...disk,
      ...(job.kind === "ServerRebuild" && end.status === "succeeded" ? rebuiltAs(job) : {}),
      ...(settled.isApplied ? { observed_generation: server.generation } : {}),
      ...(settled.status === "deleted" ? { deleted_at: sql<Date>`now()` } : {}),
      ...(settled.isApplied || end.power !== null ? { observed_at: sql<Date>`clock_timestamp()` } : {}),
      // Whatever the job did, its guest's agent may answer otherwise now.
      guest: sql<never>`guest - 'agent_at'`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", server.organisation_id)
    .where("id", "=", server.id);
  sendAhead(tx, row);
}

function rebuiltAs(job: JobRow): Pick<ServerRow, "image" | "ssh_key_ids" | "ssh_public_keys"> {
  const { image, ssh_key_ids, ssh_public_keys } = job.parameters as unknown as RebuildParameters;
  return { image, ssh_key_ids: [...ssh_key_ids], ssh_public_keys: [...ssh_public_keys] };
}

/**
 * Gives the server another VM number, and the MAC that belongs to it: its VM does not exist yet. With none
 * left it keeps the one it has: no job can be claimed for a server without a number, not even its removal.
 */
async function replaceVmid(tx: Tx, job: JobRow): Promise<boolean> {
  const server = await lockServer(tx, job.organisation_id, job.resource_id);
  if (server === null) throw new Error(`job ${job.id} has no server`);
  const former = await retireVmid(tx, server, "quarantined");
  const vmid = await takeVmid(tx, server.region, server.id);
  if (vmid === null) {
    if (former !== null) await useVmidAgain(tx, server, former);
    return false;
  }
  const { number } = await tx
    .selectFrom("region")
    .select("number")
    .where("slug", "=", server.region)
    .executeTakeFirstOrThrow();
  const nics = await tx
    .selectFrom("nic")
    .select(["id", "position"])
    .where("organisation_id", "=", server.organisation_id)
    .where("server_id", "=", server.id)
    .execute();
  for (const nic of nics)
    await tx
      .updateTable("nic")
      .set({ mac: macAddress(number, vmid, nic.position) })
      .where("organisation_id", "=", server.organisation_id)
      .where("id", "=", nic.id)
      .execute();
  return true;
}
