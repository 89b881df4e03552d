import type { Schemas } from "@kule/contract/schemas";
import type { Caller } from "../../platform/caller.ts";
import type { SessionRow } from "./store.ts";

/** A session as the contract shows it. */
export function viewSession(row: SessionRow, caller: Pick<Caller, "subject">): Schemas["ConsoleSession"] {
  return {
    id: row.id,
    server_id: row.server_id,
    type: row.type as Schemas["ConsoleType"],
    state: row.state === "ticketed" || row.state === "open" ? row.state : "connecting",
    actor: row.actor as unknown as Schemas["Actor"],
    is_own: row.subject === caller.subject,
    bytes_in: Number(row.bytes_in),
    bytes_out: Number(row.bytes_out),
    created_at: row.created_at.toISOString(),
    opened_at: row.opened_at?.toISOString() ?? null,
    last_activity_at: row.last_input_at?.toISOString() ?? null,
  };
}
