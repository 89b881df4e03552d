import type { Tx } from "../../platform/database.ts";
import { lockOpenJobs } from "../../platform/jobs.ts";

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
