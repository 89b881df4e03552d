import { type RawBuilder, sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";
import type { JobEnd } from "../../platform/job-handler.ts";
import { cancelQueuedJob, type JobRow, lockOpenJobs } from "../../platform/jobs.ts";
import type { Settings } from "../../platform/settings.ts";
import { sendAhead } from "../../platform/transaction.ts";
import { releasePublicIp } from "./allocation.ts";
import { callJob, queuePublicIpJob } from "./jobs.ts";
import type { PublicIpRow } from "./store.ts";

/** The server after the end of its job. */
export type SettledServer = {
  readonly id: string;
  readonly organisation_id: string;
  readonly region: string;
  readonly status: string;
};

const isPublicIpJob = (job: JobRow) => job.kind === "PublicIpAttach" || job.kind === "PublicIpDetach";

/** Locks the server's addresses; the servers that one of them moves to or from. */
export function lockRelatedServers(
  tx: Tx,
  { organisation_id, resource_id }: Pick<JobRow, "organisation_id" | "resource_id">,
): RawBuilder<{ id: string | null }> {
  const own = sql`from public_ip where organisation_id = ${organisation_id}
    and (server_id = ${resource_id} or held_by = ${resource_id})`;
  sendAhead(tx, sql`select id ${own} order by id for update`);
  return sql`(select unnest(array[server_id, held_by]) as id ${own})`;
}

/**
 * Records what the end of any job of a server means for its public addresses. While a job of a server is
 * open, only a delete can change which addresses it should have; so a job that succeeds has applied all that
 * is wanted.
 */
export async function settlePublicIps(
  tx: Tx,
  ips: readonly PublicIpRow[],
  server: SettledServer,
  job: JobRow,
  end: JobEnd,
  settings: Settings,
): Promise<void> {
  // Under the server's lock: it has none, so none waits for a job.
  if (ips.length === 0) return;
  for (const ip of ips) {
    if (job.kind === "ServerDestroy" && end.status === "succeeded")
      await purged(tx, ip, server, job, settings);
    else if (end.status === "succeeded") await done(tx, ip, server, job, end);
    else await notDone(tx, ip, server, job, end);
  }
  await catchUp(tx, server, job);
}

/** Addresses that the server has, should have, or has not released yet, under their locks. */
export async function ipsOf(tx: Tx, organisationId: string, serverId: string): Promise<PublicIpRow[]> {
  return tx
    .selectFrom("public_ip")
    .selectAll()
    .select(sql<string>`host(address)`.as("address"))
    .where("organisation_id", "=", organisationId)
    .where((is) => is.or([is("server_id", "=", serverId), is("held_by", "=", serverId)]))
    .orderBy("id")
    .forUpdate()
    .execute();
}

type Changes = Partial<
  Pick<
    PublicIpRow,
    | "server_id"
    | "held_by"
    | "is_applied"
    | "requires_reboot"
    | "status_code"
    | "status_message"
    | "status_job_id"
  >
>;

async function change(tx: Tx, ip: PublicIpRow, changes: Changes): Promise<void> {
  const since =
    changes.requires_reboot === undefined
      ? {}
      : { reboot_since: changes.requires_reboot ? sql<Date>`clock_timestamp()` : null };
  await tx
    .updateTable("public_ip")
    .set({ ...changes, ...since, updated_at: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", ip.organisation_id)
    .where("id", "=", ip.id)
    .execute();
}

const noReason = { status_code: null, status_message: null, status_job_id: null } as const;

/** Jobs that apply the wanted interfaces to the VM. */
const applies = new Set(["ServerCreate", "ServerRebuild", "PublicIpAttach", "PublicIpDetach"]);
/** Jobs after which a guest has booted from its drive, or will when it is on again. */
const boots = new Set(["ServerCreate", "ServerRebuild", "ServerRestore", "ServerStop"]);

async function done(tx: Tx, ip: PublicIpRow, server: SettledServer, job: JobRow, end: JobEnd): Promise<void> {
  if (ip.held_by !== server.id) return;
  if (applies.has(job.kind)) {
    if (ip.server_id !== server.id) return leave(tx, ip, job);
    const waitsForBoot = isPublicIpJob(job) && end.publicNetwork === "next_boot";
    // An address that waited for a reboot before still does, whatever else was attached too.
    return change(tx, ip, { ...noReason, is_applied: true, requires_reboot: waitsForBoot });
  }
  const hasBooted =
    boots.has(job.kind) ||
    (job.kind === "ServerPower" && (job.parameters as { action?: string }).action !== "reset");
  if (hasBooted && ip.requires_reboot) await change(tx, ip, { requires_reboot: false });
}

/** The server's VM no longer has the address: it is free, or goes to the server that waits for it. */
async function leave(tx: Tx, ip: PublicIpRow, job: JobRow): Promise<void> {
  await change(tx, ip, { ...noReason, held_by: ip.server_id, is_applied: false, requires_reboot: false });
  if (ip.server_id === null) return;
  const { queued, running } = await lockOpenJobs(tx, ip.organisation_id, ip.server_id);
  if (queued?.kind === "PublicIpAttach") return callJob(tx, queued);
  // The end of that job handles it.
  if (queued !== null || running !== null) return;
  // Its own job was cancelled by a delete, which was cancelled itself: no job waits.
  const { status } = await tx
    .selectFrom("server")
    .select("status")
    .where("organisation_id", "=", ip.organisation_id)
    .where("id", "=", ip.server_id)
    .executeTakeFirstOrThrow();
  if (status === "running" || status === "stopped")
    await queuePublicIpJob(tx, "PublicIpAttach", {
      organisationId: ip.organisation_id,
      region: ip.region,
      serverId: ip.server_id,
      by: after(job),
    });
  else if (status !== "pending_deletion" && status !== "deleting")
    await change(tx, ip, {
      status_code: "attach_failed",
      status_message: `The server that it was to go to is ${status}`,
      status_job_id: job.id,
    });
}

/** The requester of a job that follows from another one. */
const after = (job: JobRow) => ({
  requestedBy: { type: "system" as const, id: null, name: `after ${job.id}` },
  requestId: newId("req"),
});

async function notDone(
  tx: Tx,
  ip: PublicIpRow,
  server: SettledServer,
  job: JobRow,
  end: JobEnd,
): Promise<void> {
  const isComing = ip.server_id === server.id && ip.held_by === server.id && !ip.is_applied;
  const isLeaving = ip.held_by === server.id && ip.server_id !== server.id;
  const reason = (code: string) => ({
    status_code: code,
    status_message: end.message,
    status_job_id: job.id,
  });
  if (job.kind === "ServerCreate" && isComing) return change(tx, ip, reason("create_failed"));
  if (!isPublicIpJob(job)) return;
  // The server was marked for removal while the job ran; what it has not done is done when that is settled.
  const gaveWay = end.status === "cancelled" && server.status === "pending_deletion";
  if (gaveWay) return;
  if (isComing) return change(tx, ip, reason("attach_failed"));
  // The server that waited for it does not get it: the address may still be on the server that had it.
  if (isLeaving && ip.server_id !== null) {
    const { queued } = await lockOpenJobs(tx, ip.organisation_id, ip.server_id);
    if (queued?.kind === "PublicIpAttach")
      cancelQueuedJob(tx, queued, "move_failed", "The address could not be taken off its server");
    return change(tx, ip, { ...reason("move_failed"), server_id: server.id });
  }
  if (isLeaving) return change(tx, ip, reason("detach_failed"));
}

/** The server is gone, and with it everything that its VM had. */
async function purged(
  tx: Tx,
  ip: PublicIpRow,
  server: SettledServer,
  job: JobRow,
  settings: Settings,
): Promise<void> {
  const isWanted = ip.server_id === server.id;
  const isHeld = ip.held_by === server.id;
  if (!isWanted) return leave(tx, ip, job);
  await change(tx, ip, {
    ...noReason,
    server_id: null,
    held_by: isHeld ? null : ip.held_by,
    is_applied: false,
    requires_reboot: false,
  });
  if (isHeld && ip.delete_with_server && !ip.protect_delete)
    await releasePublicIp(tx, ip, settings.addressQuarantineSeconds, { job, source: "verify" });
}

/**
 * Queues now a job that a delete has cancelled, or that could not be queued while another was open: a pending
 * address always has a job. An address that no job can apply to a server in error gets that as its reason.
 */
export async function catchUp(tx: Tx, server: SettledServer, job: JobRow): Promise<void> {
  const canDetach = ["running", "stopped", "error", "pending_deletion"].includes(server.status);
  const canAttach = server.status === "running" || server.status === "stopped";
  if (!canDetach) return;
  const { queued, running } = await lockOpenJobs(tx, server.organisation_id, server.id);
  if (queued !== null || running !== null) return;
  const ips = (await ipsOf(tx, server.organisation_id, server.id)).filter((ip) => ip.status_code === null);
  const coming = ips.filter((ip) => ip.server_id === server.id && ip.held_by === server.id && !ip.is_applied);
  const comes = coming.length > 0 && canAttach;
  const leaves = ips.some((ip) => ip.held_by === server.id && ip.server_id !== server.id);
  if (server.status === "error")
    for (const ip of coming)
      await change(tx, ip, {
        status_code: "attach_failed",
        status_message: "The server is in error",
        status_job_id: job.id,
      });
  if (!comes && !leaves) return;
  await queuePublicIpJob(tx, comes ? "PublicIpAttach" : "PublicIpDetach", {
    organisationId: server.organisation_id,
    region: server.region,
    serverId: server.id,
    by: after(job),
  });
}

/** A job of the server is retried: its addresses are pending again. */
export async function retryPublicIps(tx: Tx, job: JobRow): Promise<void> {
  await tx
    .updateTable("public_ip")
    .set({ ...noReason, updated_at: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", job.organisation_id)
    .where((is) => is.or([is("server_id", "=", job.resource_id), is("held_by", "=", job.resource_id)]))
    .execute();
}
