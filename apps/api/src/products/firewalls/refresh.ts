import type { Schemas } from "@kule/contract/schemas";
import { isAttached } from "@kule/rules/firewalls/firewall";
import { IntentIndex } from "@kule/rules/networks/intent-index";
import type { Tx } from "../../platform/database.ts";
import { type JobRow, queueJob } from "../../platform/jobs.ts";
import { unknownFilter } from "../inventory/index.ts";
import { tooManyRulesOfServer } from "./conflicts.ts";
import { filterOf, storedFilterId } from "./filter.ts";
import { loadIntent } from "./intent.ts";

/** Each is a call or more, and a pass of every packet. */
export const maxRulesOfServer = 500;

export type Requester = { readonly requestedBy: Schemas["Actor"]; readonly requestId: string };

/**
 * Locks the servers that a change of a firewall may affect, before anything is written that references a
 * subnet: the end of a server's job locks the server first and its addresses' subnet after it.
 */
export function lockFiltered(tx: Tx, organisationId: string, region: string) {
  return tx
    .selectFrom("server")
    .select(["id", "status", "observed_generation", "filter_wanted", "filter_applied", "filter_failed"])
    .where("organisation_id", "=", organisationId)
    .where("region", "=", region)
    .where("deleted_at", "is", null)
    .orderBy("id")
    .forUpdate()
    .execute();
}

type RefreshOptions = { readonly maxRules?: number; readonly again?: string | null };

/**
 * Computes the filter of each of the organisation's servers in the region, and queues a job for each whose
 * filter differs now. Servers with an open job get theirs when that has ended.
 *
 * A server's filter is always computed under the server's lock, here and at the end of its jobs: the next
 * holder of the lock sees what this transaction has written, so of two concurrent changes the second includes
 * both.
 *
 * @param more `maxRules`: no server may end up with more. `again`: the servers of this firewall get a job
 * whatever filter is recorded
 * @throws Conflict `quota_exceeded`
 */
export async function refreshFilters(
  tx: Tx,
  organisationId: string,
  region: string,
  by: Requester,
  { maxRules = Number.POSITIVE_INFINITY, again = null }: RefreshOptions = {},
): Promise<JobRow[]> {
  const servers = await lockFiltered(tx, organisationId, region);
  if (servers.length === 0) return [];
  const index = new IntentIndex(await loadIntent(tx, organisationId, region));
  const told = index.around.firewalls.find(({ id }) => id === again);
  const busy = await busyServers(tx, organisationId, region);
  const jobs: JobRow[] = [];
  for (const server of servers) {
    const filter = filterOf(index, server.id);
    const wanted = storedFilterId(filter.id);
    if (wanted !== server.filter_wanted && filter.rules.length > maxRules)
      throw tooManyRulesOfServer(server.id, maxRules);
    const isChanged = wanted !== server.filter_wanted;
    const isBusy = busy.has(server.id);
    if (isChanged) await wantFilter(tx, organisationId, server.id, wanted, isBusy);
    const isAgain = told !== undefined && isAttached(told, index.server(server.id));
    const isMissing = isAgain || (wanted !== server.filter_applied && (isChanged || !server.filter_failed));
    if (isMissing && canGetFilterJob(server) && !isBusy)
      jobs.push(await queueFirewallJob(tx, { organisationId, region, serverId: server.id, by }));
  }
  return jobs;
}

export async function wantFilter(
  tx: Tx,
  organisationId: string,
  serverId: string,
  wanted: string,
  isBusy: boolean,
): Promise<void> {
  await tx
    .updateTable("server")
    .set({
      filter_wanted: wanted,
      filter_failed: false,
      // The open job may have been given the previous filter, or one in between, and may fail half-way: that
      // the wanted filter is the recorded one again does not prove that it is in force.
      ...(isBusy ? { filter_applied: unknownFilter } : {}),
    })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", serverId)
    .execute();
}

/** A server that exists and is in no transition: one in a transition gets its job when that ends. */
export function canGetFilterJob({
  status,
  observed_generation,
}: {
  readonly status: string;
  readonly observed_generation: number;
}): boolean {
  return (status === "running" || status === "stopped") && observed_generation > 0;
}

async function busyServers(tx: Tx, organisationId: string, region: string): Promise<ReadonlySet<string>> {
  const rows = await tx
    .selectFrom("job")
    .select("resource_id")
    .where("organisation_id", "=", organisationId)
    .where("region", "=", region)
    .where("status", "in", ["queued", "running"])
    .execute();
  return new Set(rows.map(({ resource_id }) => resource_id));
}

export function queueFirewallJob(
  tx: Tx,
  job: {
    readonly organisationId: string;
    readonly region: string;
    readonly serverId: string;
    readonly by: Requester;
  },
): Promise<JobRow> {
  return queueJob(tx, {
    kind: "FirewallApply",
    organisationId: job.organisationId,
    region: job.region,
    resourceType: "server",
    resourceId: job.serverId,
    ...job.by,
  });
}
