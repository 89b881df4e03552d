import type { Schemas } from "@kule/contract/schemas";
import { type TokenKind, tokenPrefix } from "../../platform/tokens.ts";
import type { TokenRow } from "./store.ts";

export function viewToken(row: TokenRow): Schemas["Token"] {
  const kind = row.kind as TokenKind;
  return {
    id: row.id,
    kind,
    name: row.name,
    prefix: tokenPrefix(kind, row.id),
    role: row.role as Schemas["Role"] | null,
    scopes: row.scopes,
    region: row.region,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at?.toISOString() ?? null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
    operator_reason: row.operator_reason,
  };
}
