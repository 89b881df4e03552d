import { regionEdgeNotKnown, regionNotScanned } from "@kule/rules/refusals";
import { sql } from "kysely";
import pg from "pg";
import { Conflict } from "./errors.ts";

/*
 * After a restore of the database from a backup it is not known what is in use in a region until it was scanned. The
 * database refuses every allocation before that (restores.ts of the baseline), whatever the operation, so no statement
 * has to ask for it.
 */

/** The refusal of an allocation in a region that was restored; null for any other error. */
export function refusedSinceRestore(error: unknown): Conflict | null {
  if (!(error instanceof pg.DatabaseError) || error.code !== "23514") return null;
  const region = error.detail ?? "";
  if (error.constraint === "region_scanned") return new Conflict(regionNotScanned(region));
  return error.constraint === "region_edge_known" ? new Conflict(regionEdgeNotKnown(region)) : null;
}

/** Of a row of `region`: what differs since the restore was not worked through yet, so nothing is removed by itself. */
export const waitsForRestoreToEnd = sql<boolean>`(region.restored_at is not null and region.restore_ended_at is null)`;

/** Of a row of `region`: nothing is known to be free there. */
export const waitsForScan = sql<boolean>`(region.restored_at is not null and region.restore_scanned_at is null)`;
