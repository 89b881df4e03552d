import type { Schemas } from "@kule/contract/schemas";
import type { ServerOwner } from "@kule/rules/servers/owner";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";
import { sendAhead } from "../../platform/transaction.ts";

export type UsageKind = Schemas["UsageKind"];

export type UsageNote = {
  readonly organisationId: string;
  readonly region: string;
  readonly resource: Schemas["UsageResource"];
  /** What a managed server belongs to. */
  readonly managedBy?: ServerOwner | null;
  readonly package: string | null;
  readonly quantity: Schemas["UsageQuantity"];
  readonly labels: object;
  /** The job whose end is counted. Tried again, a job may have more to count: its epoch tells the ends apart. */
  readonly job: { readonly id: string; readonly epoch: number } | null;
  readonly source: Schemas["UsageEvent"]["source"];
};

/**
 * Appends usage events in the order given; the database derives the segments from them in this transaction.
 * The organisation's row provides the numbers, so they have no gaps and are in the order of the commits; it
 * is locked until then, so call this late in the transaction.
 *
 * Their time is the beginning of the transaction, by Postgres' clock, and not the moment when it got the
 * lock, which many may wait for. Of one resource no event is before the last, even if that clock is set back.
 */
export function recordUsage(tx: Tx, kinds: readonly UsageKind[], note: UsageNote): void {
  if (kinds.length === 0) return;
  const { organisationId, resource, managedBy: owner, job } = note;
  const events = kinds.map((kind, index) => sql`(${newId("use")}, ${kind}, ${index + 1}::integer)`);
  sendAhead(
    tx,
    sql`with counted as (
      update organisation set usage_seq = usage_seq + ${kinds.length}::integer where id = ${organisationId}
      returning usage_seq - ${kinds.length}::integer as last
    )
    insert into usage_event (id, organisation_id, seq, kind, at, region, resource_type, resource_id, resource_name,
                             managed_by_type, managed_by_id, managed_by_name, package, quantity, labels, job_id, epoch, source)
    select event.id, ${organisationId}, counted.last + event.number, event.kind,
           greatest(now(), (select at from usage_event where organisation_id = ${organisationId}
                               and resource_id = ${resource.id} order by seq desc limit 1)),
           ${note.region}, ${resource.type}, ${resource.id}, ${resource.name}, ${owner?.type ?? null},
           ${owner?.id ?? null}, ${owner?.name ?? null}, ${note.package},
           ${JSON.stringify(note.quantity)}::jsonb, ${JSON.stringify(note.labels)}::jsonb, ${job?.id ?? null},
           ${job?.epoch ?? 0}::integer, ${note.source}
      from counted, (values ${sql.join(events)}) as event (id, kind, number)
     order by event.number`,
  );
}

/** Which of a server's usage is open: a run that has not ended, a disk that was not released. */
export async function openUsage(
  tx: Tx,
  organisationId: string,
  serverId: string,
): Promise<{ readonly runIsCounted: boolean; readonly diskIsCounted: boolean }> {
  const open = await tx
    .selectFrom("usage_segment")
    .select("kind")
    .where("organisation_id", "=", organisationId)
    .where("resource_id", "=", serverId)
    .where("ended_at", "is", null)
    .execute();
  const kinds = open.map((segment) => segment.kind);
  return { runIsCounted: kinds.includes("compute"), diskIsCounted: kinds.includes("disk") };
}
