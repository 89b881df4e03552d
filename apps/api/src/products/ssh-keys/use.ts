import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Database, Tx } from "../../platform/database.ts";

/** Servers that were given a key. */
export type KeyUse = { readonly servers: readonly string[]; readonly count: number };

export const noUse: KeyUse = { servers: [], count: 0 };

const shown = 100;

/**
 * The servers that were given each of the keys, in one query of the organisation's servers. A caller who may
 * not see servers gets none.
 */
export async function useOfKeys(
  request: Pick<ApiRequest, "organisationId" | "caller">,
  db: Database | Tx,
  keyIds: readonly string[],
): Promise<ReadonlyMap<string, KeyUse>> {
  if (keyIds.length === 0 || !request.caller.permissions.has("server:read")) return new Map();
  const rows = await db
    .selectFrom("server")
    .innerJoin(sql<{ key: string }>`unnest(${[...keyIds]}::text[])`.as<"wanted">(sql`wanted(key)`), (join) =>
      join.on(sql<boolean>`wanted.key = any (server.ssh_key_ids)`),
    )
    .select([
      sql<string>`wanted.key`.as("key"),
      sql<number>`count(*)::integer`.as("count"),
      sql<string[]>`(array_agg(server.id order by server.created_at desc, server.id desc))[1:${shown}]`.as(
        "servers",
      ),
    ])
    .where("server.organisation_id", "=", request.organisationId)
    .where("server.deleted_at", "is", null)
    .where(sql<boolean>`server.ssh_key_ids && ${[...keyIds]}::text[]`)
    .groupBy(sql`wanted.key`)
    .execute();
  return new Map(rows.map(({ key, count, servers }) => [key, { count, servers }]));
}
