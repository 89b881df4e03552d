import { sql } from "kysely";
import type { Database } from "../../platform/database.ts";

/**
 * Adds what began or ended in hours that are over to the balances of every organisation (docs/adr/0048): each in a transaction of its
 * own, since it locks the organisation. One without any of it is only looked at.
 */
export async function balanceUsage(db: Database): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    select id from organisation
     where usage_seq > 0
       and (usage_balanced_until is null or usage_balanced_until < date_trunc('hour', clock_timestamp() - interval '1 hour'))`.execute(
    db,
  );
  for (const { id } of rows) await sql`select kule_balance_usage(p_organisation_id => ${id})`.execute(db);
}
