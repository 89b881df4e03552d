import type { Schemas } from "@kule/contract/schemas";
import type { SshKeyRow } from "./store.ts";
import { type KeyUse, noUse } from "./use.ts";

export function viewSshKey(row: SshKeyRow, use: KeyUse = noUse): Schemas["SshKey"] {
  return {
    id: row.id,
    name: row.name,
    public_key: row.public_key,
    fingerprint_sha256: row.fingerprint_sha256,
    fingerprint_md5: row.fingerprint_md5,
    type: row.type as Schemas["SshKey"]["type"],
    bits: row.bits,
    comment: row.comment,
    labels: row.labels as Schemas["Labels"],
    used_by_servers: [...use.servers],
    used_by_server_count: use.count,
    created_by: row.created_by as Schemas["Actor"] | null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
    generation: row.generation,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
