import { sql } from "kysely";
import type { Replica } from "../api-world.ts";

/**
 * The organisation that each connection of the replica's pool acts for now, outside of any transaction; "" is
 * none.
 */
export async function actingConnections({ deps }: Replica): Promise<string[]> {
  // Concurrently, and slow enough that none of them can get a connection that another one has had.
  const looks = Array.from({ length: deps.settings.poolSize }, () =>
    sql<{ acting: string | null }>`
      select current_setting('app.organisation', true) as acting from pg_sleep(0.2)`.execute(deps.db),
  );
  return (await Promise.all(looks)).map(({ rows }) => rows[0]?.acting ?? "");
}
