import type { AgentUpdateSettings } from "@kule/database/generated/rows";
import { type Selectable, sql, type Updateable } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";

export type SettingsRow = Selectable<AgentUpdateSettings>;

/** The one row, which the migration has made. */
export function readSettings(db: Database | Tx): Promise<SettingsRow> {
  return db.selectFrom("agent_update_settings").selectAll().executeTakeFirstOrThrow();
}

export function lockSettings(tx: Tx): Promise<SettingsRow> {
  return tx.selectFrom("agent_update_settings").selectAll().forUpdate().executeTakeFirstOrThrow();
}

export function updateSettings(tx: Tx, changes: Updateable<AgentUpdateSettings>): Promise<SettingsRow> {
  return tx
    .updateTable("agent_update_settings")
    .set({
      ...changes,
      generation: sql<number>`generation + 1`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}
