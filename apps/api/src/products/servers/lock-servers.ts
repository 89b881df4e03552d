import { type RawBuilder, sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { lockOpenJobs } from "../../platform/jobs.ts";
import { sendAhead } from "../../platform/transaction.ts";

/**
 * Locks the rows of these servers, always in the same order: two opposite moves must not deadlock. And their
 * open jobs: a queued one that the change supersedes must not be claimed in the meantime.
 */
export async function lockServers(
  tx: Tx,
  organisationId: string,
  ids: readonly (string | null)[],
): Promise<void> {
  const wanted = [...new Set(ids.flatMap((id) => id ?? []))];
  if (wanted.length === 0) return;
  await tx
    .selectFrom("server")
    .select("id")
    .where("organisation_id", "=", organisationId)
    .where("id", "in", wanted)
    .orderBy("id")
    .forUpdate()
    .execute();
  for (const id of wanted.toSorted()) await lockOpenJobs(tx, organisationId, id);
}

/**
 * The same for the server of a job that ends and those that the queries find, without a wait for the answers: what is
 * sent after it works under the locks.
 */
export function lockSettledServers(
  tx: Tx,
  job: { readonly organisation_id: string; readonly resource_id: string },
  related: readonly RawBuilder<{ id: string | null }>[],
): void {
  const ids = sql.join([sql`select ${job.resource_id}::text as id`, ...related], sql` union all `);
  sendAhead(
    tx,
    sql`select id from server where organisation_id = ${job.organisation_id} and id in (${ids}) order by id for update`,
  );
  sendAhead(
    tx,
    sql`select id from job
         where organisation_id = ${job.organisation_id} and resource_id in (${ids}) and status in ('queued', 'running')
         order by resource_id, id for update`,
  );
}
