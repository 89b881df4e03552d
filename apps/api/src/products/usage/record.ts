import type { Schemas } from "@kule/contract/schemas";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";

export type UsageKind = Schemas["UsageKind"];

export type UsageNote = {
  readonly organisationId: string;
  readonly region: string;
  readonly server: { readonly id: string; readonly name: string };
  readonly package: string;
  readonly quantity: Schemas["UsageEvent"]["quantity"];
  readonly labels: object;
  readonly jobId: string;
};

/**
 * Appends usage events in the order given. The organisation's row hands out their numbers, so they have no gaps and
 * are in the order of the commits; it is locked until then, so call this late in the transaction.
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
        region: note.region,
        resource_type: "server",
        resource_id: note.server.id,
        resource_name: note.server.name,
        package: note.package,
        quantity: JSON.stringify(note.quantity),
        labels: JSON.stringify(note.labels),
        job_id: note.jobId,
      })),
    )
    .execute();
}

/** Which of a server's usage is open: a start without its stop, a disk without its release. */
export async function openUsage(
  tx: Tx,
  organisationId: string,
  serverId: string,
): Promise<{ readonly runIsCounted: boolean; readonly diskIsCounted: boolean }> {
  const last = (kinds: readonly UsageKind[]) =>
    tx
      .selectFrom("usage_event")
      .select("kind")
      .where("organisation_id", "=", organisationId)
      .where("resource_id", "=", serverId)
      .where("kind", "in", kinds)
      .orderBy("seq", "desc")
      .limit(1);
  const { run, disk } = await tx
    .selectNoFrom([
      last(["server.started", "server.stopped"]).as("run"),
      last(["disk.allocated", "disk.released"]).as("disk"),
    ])
    .executeTakeFirstOrThrow();
  return { runIsCounted: run === "server.started", diskIsCounted: disk === "disk.allocated" };
}
