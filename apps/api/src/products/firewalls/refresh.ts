import type { Schemas } from "@kule/contract/schemas";
import { isAttached } from "@kule/rules/firewalls/firewall";
import { IntentIndex } from "@kule/rules/networks/intent-index";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { type JobRow, queueJob } from "../../platform/jobs.ts";
import { tooManyRulesOfServer } from "./conflicts.ts";
import { filterOf, storedFilterId, unknownFilter } from "./filter.ts";
import { loadIntent } from "./intent.ts";
import { hasAttachments } from "./store.ts";

/** Each is a call or more, and a pass of every packet. */
export const maxRulesOfServer = 500;

export type Asker = { readonly requestedBy: Schemas["Actor"]; readonly requestId: string };

/**
 * Locks the servers that a change of a firewall may be about, before anything is written that points at a subnet: whoever
 * ends a job of a server holds that one when they come for its addresses.
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
 * Works out what the filter of each of the organisation's servers in the region is to be, and writes a job for each that
 * has another one now. Servers with a job under way are told when that has ended.
 *
 * All that is worked out for a server is worked out under its lock, here and at the end of its jobs: whoever has it next
 * sees what this transaction has written, so of two changes at the same time the second works with both.
 *
 * @param more `maxRules`: a server may not come to have more of them. `again`: the servers of this firewall are told
 *   whatever they are said to have
 * @throws Conflict `quota_exceeded`
 */
export async function refreshFilters(
  tx: Tx,
  organisationId: string,
  region: string,
  by: Asker,
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
    if (isMissing && mayBeTold(server) && !isBusy)
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
      // The job may have been given what was wanted until now, or what will have been in between, and may fail half-way:
      // wanting again what was there before is no sign that it still is.
      ...(isBusy ? { filter_applied: unknownFilter } : {}),
    })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", serverId)
    .execute();
}

/** A server that is there and on no way: one that is on a way is told at its end. */
export function mayBeTold({
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
    readonly by: Asker;
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

/**
 * Has the filters worked out anew once this transaction is committed: other servers' rules may name what it has changed,
 * and their rows are not this transaction's to lock.
 */
export async function askForRefresh(tx: Tx, organisationId: string, region: string): Promise<void> {
  if (!(await hasAttachments(tx, organisationId, region))) return;
  const payload = JSON.stringify({ organisation_id: organisationId, region });
  await sql`select kule_task_add('refresh_filters', ${payload}::json, now(), ${`filters:${organisationId}:${region}`})`.execute(
    tx,
  );
}
