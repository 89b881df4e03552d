import type { Schemas } from "@kule/contract/schemas";
import type { PasskeyRow } from "./passkey-store.ts";

export function viewPasskey(row: PasskeyRow): Schemas["Passkey"] {
  return {
    id: row.id,
    name: row.name,
    is_synced: row.is_synced,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
  };
}
