import type { Schemas } from "@kule/contract/schemas";
import type { AuditRow } from "./store.ts";

export function viewAuditEntry(row: AuditRow): Schemas["AuditEntry"] {
  return {
    id: row.id,
    at: row.at.toISOString(),
    actor: { type: row.actor_type as Schemas["Actor"]["type"], id: row.actor_id, name: row.actor_name },
    action: row.action,
    resource: row.resource,
    organisation_id: row.organisation_id,
    outcome: row.outcome as Schemas["AuditEntry"]["outcome"],
    http_status: row.http_status,
    code: row.code,
    request_id: row.request_id,
    source_address: row.source_address,
    details: row.details as Record<string, unknown>,
  };
}
