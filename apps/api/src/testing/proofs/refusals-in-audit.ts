import pg from "pg";

/**
 * Request ids of the given refusals that are missing in the audit trail, with what was sent; twenty at most.
 */
export async function missingInAudit(
  ownerUrl: string,
  refused: ReadonlyMap<string, string>,
): Promise<[id: string, sent: string][]> {
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  try {
    const { rows } = await owner.query<{ id: string }>(
      `select asked.id from unnest($1::text[]) asked (id)
        where not exists (select 1 from audit where request_id = asked.id) limit 20`,
      [[...refused.keys()]],
    );
    return rows.map(({ id }) => [id, refused.get(id) ?? ""]);
  } finally {
    await owner.end();
  }
}
