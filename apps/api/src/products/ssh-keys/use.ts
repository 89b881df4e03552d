import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Database, Tx } from "../../platform/database.ts";

/** Servers that were given a key. */
export type KeyUse = { readonly servers: readonly string[]; readonly count: number };

export const noUse: KeyUse = { servers: [], count: 0 };

const shown = 100;

/**
 * The servers that were given each of the keys, the newest first. A caller who may not see servers gets none.
 */
export async function useOfKeys(
  request: Pick<ApiRequest, "organisationId" | "caller">,
  db: Database | Tx,
  keyIds: readonly string[],
): Promise<ReadonlyMap<string, KeyUse>> {
  if (keyIds.length === 0 || !request.caller.permissions.has("server:read")) return new Map();
  const uses = db
    .selectFrom("ssh_key_use")
    .where("ssh_key_use.organisation_id", "=", request.organisationId)
    .where("ssh_key_use.ssh_key_id", "=", sql.ref<string>("wanted.key"));
  const newest = uses
    .select("ssh_key_use.server_id")
    .orderBy("ssh_key_use.created_at", "desc")
    .orderBy("ssh_key_use.server_id", "desc")
    .limit(shown);
  const rows = await db
    .selectFrom(sql<{ key: string }>`unnest(${[...keyIds]}::text[])`.as<"wanted">(sql`wanted(key)`))
    .select([
      "wanted.key",
      sql<number>`(${uses.select(sql`count(*)::integer`.as("count"))})`.as("count"),
      sql<string[]>`array(${newest})`.as("servers"),
    ])
    .execute();
  return new Map(rows.map(({ key, count, servers }) => [key, { count, servers }]));
}
