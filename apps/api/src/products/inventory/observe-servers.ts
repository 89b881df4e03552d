import type { SystemAuditAction } from "@kule/contract/system-audit";
import { type Followed, followPower } from "@kule/rules/inventory/follow-power";
import { plausibleUptime } from "@kule/rules/inventory/plausible";
import { needsNoReboot } from "@kule/rules/public-ips/reboot";
import { grownDiskGb } from "@kule/rules/servers/disk";
import type { ServerStatus } from "@kule/rules/servers/lifecycle";
import type { PowerState } from "@kule/rules/servers/settle";
import { sql } from "kysely";
import { systemQuery, type Tx } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";
import { queueJob } from "../../platform/jobs.ts";
import { openUsage, recordUsage, serverUsage } from "../usage/index.ts";
import { sizeOf } from "./capacity.ts";
import type { Guest, Sighting } from "./guests.ts";
import type { Holder } from "./holders.ts";
import { guestOf, type StoredGuest } from "./stored-guest.ts";

/** A server and how its VM was observed, while no job could have changed either. */
export type Observed = {
  readonly holder: Holder;
  readonly lookedAt: Date;
  /** Null: no guest has its number any more. */
  readonly guest: Guest | null;
};

/** Reported when a server's power differed from the records. */
export type PowerNews = {
  readonly server: string;
  readonly organisation: string;
  readonly from: string;
  readonly to: string;
};

const requestedBy = { type: "system", id: null, name: "inventory" } as const;

/**
 * Whether an observation is newer than what is known of the server: not while a job of it is open, nor when
 * the scan began before its last job ended, or before the last observation. Without this a late batch would
 * undo what a job has settled.
 */
export function isNews({ hasOpenJob, lastJobEnd, server }: Holder, { lookedAt }: Sighting): boolean {
  if (hasOpenJob) return false;
  if (lastJobEnd !== null && lastJobEnd >= lookedAt) return false;
  return server.observed_at === null || server.observed_at < lookedAt;
}

/**
 * Writes what was observed: power, guest and time on the record; status and usage where the power differed.
 *
 * @param mayStop a server that runs in its removal buffer is stopped again
 */
export async function observeServers(
  tx: Tx,
  seen: readonly Observed[],
  mayStop: boolean,
): Promise<PowerNews[]> {
  const news: PowerNews[] = [];
  // Usage locks each organisation's row: in one order, so that two regions' batches cannot deadlock.
  const ordered = seen.toSorted((one, other) =>
    one.holder.server.organisation_id < other.holder.server.organisation_id ? -1 : 1,
  );
  for (const each of ordered) {
    await followGuestNetwork(tx, each);
    const server = await followDisk(tx, each.holder, each.guest);
    const result = await follow(tx, server, each.guest, mayStop);
    if (result === null) continue;
    const isNewPower = result.powerState !== server.power_state || result.status !== server.status;
    if (isNewPower)
      news.push({
        server: server.id,
        organisation: server.organisation_id,
        from: `${server.status} (${server.power_state})`,
        to: `${result.status} (${result.powerState})`,
      });
  }
  await writeObserved(tx, seen);
  return news;
}

/**
 * A disk that has grown by a resize whose end was not observed: it is recorded and counted as large as it is.
 * One that is larger than was ever requested is drift.
 *
 * @returns the server as it is now
 */
async function followDisk(tx: Tx, { server, orderedDiskGb }: Holder, guest: Guest | null): Promise<Server> {
  const { diskGb } = sizeOf(server.package, server.disk_gb);
  const disk_gb = grownDiskGb(diskGb, orderedDiskGb, guest?.disk_bytes ?? null);
  if (disk_gb === null || server.observed_generation === 0) return server;
  await tx
    .updateTable("server")
    .set({ disk_gb, updated_at: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", server.organisation_id)
    .where("id", "=", server.id)
    .execute();
  await audit(tx, server, { disk_gb: { from: diskGb, to: disk_gb } });
  const grown = { ...server, disk_gb };
  const { diskIsCounted } = await openUsage(tx, server.organisation_id, server.id);
  if (diskIsCounted) recordUsage(tx, ["server.resized"], serverUsage(grown, null, "reconcile"));
  return grown;
}

/** An address that the guest has configured itself, or that it reads from its drive now, needs no reboot. */
async function followGuestNetwork(tx: Tx, { holder, lookedAt, guest }: Observed): Promise<void> {
  if (guest === null) return;
  const power = guest.power ?? "off";
  const uptime = power === "on" ? plausibleUptime(guest.guest?.uptime_seconds ?? null) : null;
  const seen = {
    power,
    bootAtMs: uptime === null ? null : lookedAt.getTime() - uptime * 1000,
    addresses: guest.guest?.addresses ?? [],
  };
  const done = holder.publicIps.filter(
    ({ address, rebootSince: since }) =>
      since !== null && needsNoReboot({ address, sinceMs: since.getTime() }, seen),
  );
  if (done.length === 0) return;
  await tx
    .updateTable("public_ip")
    .set({ requires_reboot: false, reboot_since: null, updated_at: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", holder.server.organisation_id)
    .where(
      "id",
      "in",
      done.map(({ id }) => id),
    )
    // The observation is compared with the state when the server's jobs were read, and they are locked with
    // it.
    .where("held_by", "=", holder.server.id)
    .execute();
}

/** Null when everything is as recorded, which is nearly always: then no further query is made. */
async function follow(
  tx: Tx,
  server: Server,
  guest: Guest | null,
  mayStop: boolean,
): Promise<Followed | null> {
  const seen = guest === null ? "gone" : (guest.power ?? "off");
  const wasMissing = server.status === "error" && server.status_code === "vm_missing";
  const isMarked = server.status === "pending_deletion" && seen === "on";
  if (server.power_state === seen && !wasMissing && !isMarked && statusFits(server.status, seen)) return null;
  if (
    seen === "gone" &&
    server.power_state === "unknown" &&
    server.status !== "running" &&
    server.status !== "stopped"
  )
    return null;
  const result = followPower({
    status: server.status as ServerStatus,
    reasonCode: server.status_code,
    powerState: server.power_state as PowerState,
    seen,
    ...(await openUsage(tx, server.organisation_id, server.id)),
  });
  const reason =
    result.reason === "keep"
      ? {}
      : {
          status_code: result.reason?.code ?? null,
          status_message: result.reason?.message ?? null,
          status_job_id: null,
        };
  await tx
    .updateTable("server")
    .set({
      status: result.status,
      power_state: result.powerState,
      ...reason,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", server.organisation_id)
    .where("id", "=", server.id)
    .execute();
  if (result.status !== server.status) await noteChange(tx, server, result);
  if (result.stopsAgain && mayStop) await stopAgain(tx, server);
  recordUsage(tx, result.usage, serverUsage(server, null, "reconcile"));
  return result;
}

function statusFits(status: string, seen: "on" | "off" | "gone"): boolean {
  if (status === "running") return seen === "on";
  if (status === "stopped") return seen === "off";
  return seen !== "gone";
}

type Server = Holder["server"];

function noteChange(tx: Tx, server: Server, { status, powerState }: Followed): Promise<void> {
  return audit(tx, server, { from: server.status, to: status, power_state: powerState });
}

async function audit(tx: Tx, server: Server, details: object): Promise<void> {
  await tx
    .insertInto("audit")
    .values({
      id: newId("aud"),
      organisation_id: server.organisation_id,
      region: server.region,
      actor_type: "system",
      actor_id: null,
      actor_name: requestedBy.name,
      action: "server.observe" satisfies SystemAuditAction,
      resource: server.id,
      outcome: "succeeded",
      http_status: 200,
      code: null,
      request_id: newId("req"),
      source_address: null,
      details: JSON.stringify(details),
    })
    .execute();
}

/**
 * A server in the removal buffer that was started in the region: it must be off there, and its owner pays for
 * none.
 */
async function stopAgain(tx: Tx, server: Server): Promise<void> {
  await queueJob(tx, {
    kind: "ServerStop",
    organisationId: server.organisation_id,
    region: server.region,
    resourceType: "server",
    resourceId: server.id,
    requestedBy,
    requestId: newId("req"),
  });
}

/** One statement for the whole batch. */
async function writeObserved(tx: Tx, seen: readonly Observed[]): Promise<void> {
  const there = seen.map(({ holder, lookedAt, guest }) => ({
    id: holder.server.id,
    organisation_id: holder.server.organisation_id,
    looked_at: lookedAt.toISOString(),
    node: guest?.node ?? holder.server.node,
    guest: guest === null ? null : guestOf(holder.server.guest as StoredGuest | null, guest, lookedAt),
  }));
  if (there.length === 0) return;
  await sql`
    update server
       set observed_at = found.looked_at, node = found.node, guest = found.guest
      from jsonb_to_recordset(${JSON.stringify(there)}::jsonb)
           as found(id text, organisation_id text, looked_at timestamptz, node text, guest jsonb)
     where server.organisation_id = found.organisation_id and server.id = found.id`.execute(
    systemQuery(tx, "an agent looks at the servers of all organisations in its region"),
  );
}
