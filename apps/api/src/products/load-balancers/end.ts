import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { type JobRow, lockOpenJobs } from "../../platform/jobs.ts";
import type { Settings } from "../../platform/settings.ts";
import { lockPublicIp, releasePublicIp } from "../public-ips/index.ts";
import { serversOf } from "./machines.ts";
import { recordTraffic } from "./meter-traffic.ts";
import { unsharePublicIp } from "./shared-public-ip.ts";
import type { LoadBalancerRow } from "./store.ts";

type End = {
  readonly settings: Pick<Settings, "addressQuarantineSeconds">;
  /** The one that has just ended; null in a request. */
  readonly job: JobRow | null;
};

/**
 * A load balancer that is being deleted is gone when it has neither servers nor jobs. Its row must be locked. What it was
 * the only one to have is free again: its number and, after a quarantine, its addresses.
 */
export async function endIfDone(tx: Tx, row: LoadBalancerRow, { settings, job }: End): Promise<boolean> {
  const { organisation_id: organisationId, id } = row;
  const [servers, { queued, running }] = await Promise.all([
    serversOf(tx, row),
    lockOpenJobs(tx, organisationId, id),
  ]);
  const open = [queued, running].filter((each) => each !== null && each.id !== job?.id);
  if (servers.length > 0 || open.length > 0) return false;
  await tx
    .updateTable("address")
    .set({
      state: "quarantined",
      load_balancer_id: null,
      free_after: sql<Date>`clock_timestamp() + make_interval(secs => ${settings.addressQuarantineSeconds})`,
      since: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", organisationId)
    .where("load_balancer_id", "=", id)
    .execute();
  await recordTraffic(tx, row, null);
  await unsharePublicIp(tx, row);
  await tx
    .deleteFrom("load_balancer")
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .execute();
  await releaseAddress(tx, row, { settings, job });
  return true;
}

/** One that was named, that is protected, or that somebody has attached elsewhere since stays the organisation's. */
async function releaseAddress(tx: Tx, row: LoadBalancerRow, { settings, job }: End): Promise<void> {
  if (row.public_ip_id === null || row.keeps_address) return;
  const ip = await lockPublicIp(tx, row.organisation_id, row.public_ip_id);
  if (ip === null || ip.protect_delete || ip.server_id !== null || ip.held_by !== null) return;
  if (ip.gateway_id !== null || ip.load_balancer_id !== null) return;
  await releasePublicIp(tx, ip, settings.addressQuarantineSeconds, {
    job,
    source: job === null ? "request" : "verify",
  });
}
