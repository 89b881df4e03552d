import { sql } from "kysely";
import type { Replica } from "../api-world.ts";

/** As whom each connection of the replica's pool acts now, outside of any transaction; "" is nobody. */
export async function actingConnections({ deps }: Replica): Promise<string[]> {
  // All at once, and slow enough that none of them can take a connection that another one has had.
  const looks = Array.from({ length: deps.settings.poolSize }, () =>
    sql<{ acting: string | null }>`
      select current_setting('app.organisation', true) as acting from pg_sleep(0.2)`.execute(deps.db),
  );
  return (await Promise.all(looks)).map(({ rows }) => rows[0]?.acting ?? "");
}
