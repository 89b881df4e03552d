import { tenantTables } from "@kule/database/tenant-tables";
import pg from "pg";

/** Every row that belongs to the organisation, in text, by table. */
export async function rowsOfOrganisation(
  ownerUrl: string,
  organisationId: string,
): Promise<Map<string, readonly string[]>> {
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  try {
    const rows = new Map<string, readonly string[]>();
    for (const table of tenantTables) {
      const found = await owner.query<{ row: string }>(
        `select t::text as row from ${table} t where organisation_id = $1 order by 1`,
        [organisationId],
      );
      rows.set(
        table,
        found.rows.map(({ row }) => row),
      );
    }
    return rows;
  } finally {
    await owner.end();
  }
}
