import type { Schemas } from "@kule/contract/schemas";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";

export type UsageKind = Schemas["UsageKind"];

export type UsageNote = {
  readonly organisationId: string;
  readonly region: string;
  readonly resource: Schemas["UsageResource"];
  readonly package: string | null;
  readonly quantity: Schemas["UsageQuantity"];
  readonly labels: object;
  readonly jobId: string | null;
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
export async function recordUsage(tx: Tx, kinds: readonly UsageKind[], note: UsageNote): Promise<void> {
  if (kinds.length === 0) return;
  const { usage_seq } = await tx
    .updateTable("organisation")
    .set({ usage_seq: sql<bigint>`usage_seq + ${kinds.length}::integer` })
    .where("id", "=", note.organisationId)
    .returning("usage_seq")
    .executeTakeFirstOrThrow();
  const first = Number(usage_seq) - kinds.length + 1;
  await tx
    .insertInto("usage_event")
    .values(
      kinds.map((kind, index) => ({
        id: newId("use"),
        organisation_id: note.organisationId,
        seq: first + index,
        kind,
        at: sql<Date>`greatest(now(), (
          select at from usage_event where organisation_id = ${note.organisationId}
             and resource_id = ${note.resource.id} order by seq desc limit 1))`,
        region: note.region,
        resource_type: note.resource.type,
        resource_id: note.resource.id,
        resource_name: note.resource.name,
        package: note.package,
        quantity: JSON.stringify(note.quantity),
        labels: JSON.stringify(note.labels),
        job_id: note.jobId,
        // The claim under which the job ended: tried again, it may have more to count.
        epoch: sql<number>`coalesce((select epoch from job
          where organisation_id = ${note.organisationId} and id = ${note.jobId}), 0)`,
        source: note.source,
      })),
    )
    .execute();
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
