import type { Server } from "@kule/database/generated/rows";
import type { ServerOwner } from "@kule/rules/servers/owner";
import { type RawBuilder, type Selectable, sql } from "kysely";

/** What a row of a server, or of its usage, says about whom it belongs to. */
type OwnerColumns = Pick<Selectable<Server>, "managed_by_type" | "managed_by_id" | "managed_by_name">;

/** What the server belongs to; null for one of the customer's own. */
export function ownerOfRow({
  managed_by_type: type,
  managed_by_id: id,
  managed_by_name: name,
}: OwnerColumns): ServerOwner | null {
  if (type === null || id === null || name === null) return null;
  return { type: type as ServerOwner["type"], id, name };
}

/** The same in a query, of the server that is joined under this name. */
export function ownerOf(server: string): RawBuilder<ServerOwner | null> {
  const column = (name: string) => sql.ref(`${server}.managed_by_${name}`);
  return sql<ServerOwner | null>`case when ${column("type")} is not null then
    json_build_object('type', ${column("type")}, 'id', ${column("id")}, 'name', ${column("name")}) end`;
}

/** How the owner is stored. */
export const ownerColumns = (owner: ServerOwner | null): OwnerColumns => ({
  managed_by_type: owner?.type ?? null,
  managed_by_id: owner?.id ?? null,
  managed_by_name: owner?.name ?? null,
});
