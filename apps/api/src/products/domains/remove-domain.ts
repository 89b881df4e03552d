import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import type { JobRow } from "../../platform/jobs.ts";
import { type Requester, requestDomainApply } from "./apply.ts";
import type { DomainRow } from "./store.ts";

/** Queues the job that removes a proven domain from its name servers. Its row is locked. */
export async function removeDomain(
  tx: Tx,
  domain: Pick<DomainRow, "id" | "organisation_id">,
  by: Requester,
): Promise<JobRow> {
  await tx
    .updateTable("domain")
    .set({
      status: "deleting",
      deletion_requested_at: sql<Date>`coalesce(deletion_requested_at, clock_timestamp())`,
      // Nothing is removed before its purge time, and that is now.
      purge_at: sql<Date>`least(purge_at, clock_timestamp())`,
    })
    .where("organisation_id", "=", domain.organisation_id)
    .where("id", "=", domain.id)
    .execute();
  const job = await requestDomainApply(tx, domain, by);
  if (job === null) throw new Error(`domain ${domain.id} is not proven, and nothing serves it`);
  return job;
}
