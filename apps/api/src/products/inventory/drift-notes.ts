import type { Difference } from "@kule/rules/inventory/differences";
import { sql } from "kysely";
import { systemQuery, type Tx } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";

const why = "drift is of whoever's VM it is, and of nobody's";

export type DriftKind = "changed" | "missing" | "foreign" | "extra";

/** One VM number that differs from the records. */
export type DriftNote = {
  readonly vmid: number;
  readonly kind: DriftKind;
  readonly server: { readonly id: string; readonly organisation_id: string } | null;
  readonly node: string | null;
  readonly vmName: string | null;
  readonly marker: string | null;
  readonly message: string;
  readonly differences: readonly Difference[];
  readonly lookedAt: Date;
};

/**
 * Drift is reported after this many consecutive scans: a single sighting may have been a moment of a change.
 */
export const sightingsToReport = 2;

export type DriftNews = {
  readonly vmid: number;
  readonly kind: DriftKind;
  readonly server: string | null;
  readonly message: string;
};

/**
 * Records what this scan found. The same kind at the same number as in the previous scan is one more
 * sighting; anything else starts again at one.
 *
 * @returns what is reported from now on
 */
export async function noteDrift(
  tx: Tx,
  region: string,
  pass: number,
  notes: readonly DriftNote[],
): Promise<DriftNews[]> {
  if (notes.length === 0) return [];
  const rows = await systemQuery(tx, why)
    .insertInto("drift")
    .values(
      notes.map((note) => ({
        id: newId("drf"),
        region,
        vmid: note.vmid,
        kind: note.kind,
        organisation_id: note.server?.organisation_id ?? null,
        server_id: note.server?.id ?? null,
        node: note.node,
        vm_name: note.vmName,
        marker: note.marker,
        message: note.message,
        differences: JSON.stringify(note.differences),
        pass,
        // A VM that two scans did not find in the list, and then no guest has its number: that is more than
        // one sighting.
        sightings: note.kind === "missing" ? sightingsToReport : 1,
        first_seen_at: note.lookedAt,
        last_seen_at: note.lookedAt,
      })),
    )
    .onConflict((conflict) =>
      conflict.constraint("drift_vm").doUpdateSet((excluded) => {
        const isSame = sql<boolean>`drift.kind = excluded.kind and drift.server_id is not distinct from excluded.server_id`;
        return {
          id: sql<string>`case when ${isSame} then drift.id else excluded.id end`,
          sightings: sql<number>`case when ${isSame} then drift.sightings + 1 else excluded.sightings end`,
          first_seen_at: sql<Date>`case when ${isSame} then drift.first_seen_at else excluded.first_seen_at end`,
          kind: excluded.ref("excluded.kind"),
          organisation_id: excluded.ref("excluded.organisation_id"),
          server_id: excluded.ref("excluded.server_id"),
          node: excluded.ref("excluded.node"),
          vm_name: excluded.ref("excluded.vm_name"),
          marker: excluded.ref("excluded.marker"),
          message: excluded.ref("excluded.message"),
          differences: excluded.ref("excluded.differences"),
          pass: excluded.ref("excluded.pass"),
          last_seen_at: excluded.ref("excluded.last_seen_at"),
        };
      }),
    )
    .returning(["vmid", "kind", "server_id", "message", "sightings"])
    .execute();
  return rows
    .filter(({ sightings }) => sightings === sightingsToReport)
    .map(({ vmid, kind, server_id, message }) => ({
      vmid,
      kind: kind as DriftKind,
      server: server_id,
      message,
    }));
}

/** These numbers were scanned, and agree with the records. */
export async function clearDrift(tx: Tx, region: string, vmids: readonly number[]): Promise<DriftNews[]> {
  if (vmids.length === 0) return [];
  return cleared(
    await systemQuery(tx, why)
      .deleteFrom("drift")
      .where("region", "=", region)
      .where("vmid", "in", [...vmids])
      .returning(["vmid", "kind", "server_id", "message", "sightings"])
      .execute(),
  );
}

/** What a complete scan has not found again no longer exists. */
export async function clearUnseenDrift(tx: Tx, region: string, pass: number): Promise<DriftNews[]> {
  return cleared(
    await systemQuery(tx, why)
      .deleteFrom("drift")
      .where("region", "=", region)
      .where("pass", "<", pass)
      .returning(["vmid", "kind", "server_id", "message", "sightings"])
      .execute(),
  );
}

type ClearedRow = {
  vmid: number;
  kind: string;
  server_id: string | null;
  message: string;
  sightings: number;
};

const cleared = (rows: readonly ClearedRow[]): DriftNews[] =>
  rows
    .filter(({ sightings }) => sightings >= sightingsToReport)
    .map(({ vmid, kind, server_id, message }) => ({
      vmid,
      kind: kind as DriftKind,
      server: server_id,
      message,
    }));
