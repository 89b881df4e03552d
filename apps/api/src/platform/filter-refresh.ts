import { sql } from "kysely";
import type { Tx } from "./database.ts";

/**
 * Queues the computation of the filters for after this transaction's commit: other servers' rules may name
 * what it has changed, and it must not lock their rows.
 */
export async function queueFilterRefresh(tx: Tx, organisationId: string, region: string): Promise<void> {
  if (!(await hasAttachments(tx, organisationId, region))) return;
  const payload = JSON.stringify({ organisation_id: organisationId, region });
  await sql`select kule_task_add('refresh_filters', ${payload}::json, now(), ${`filters:${organisationId}:${region}`})`.execute(
    tx,
  );
}

/** The organisation has a firewall attached to something in the region. */
export async function hasAttachments(tx: Tx, organisationId: string, region: string): Promise<boolean> {
  const row = await tx
    .selectFrom("firewall_attachment")
    .select("id")
    .where("organisation_id", "=", organisationId)
    .where("region", "=", region)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
