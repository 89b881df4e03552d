import { type Database, systemQuery } from "../platform/database.ts";
import type { JobIdentity } from "../platform/jobs.ts";
import type { ClaimedJobs } from "./claimed-jobs.ts";

/** The job of a report: one of the reporter's region, or of the control plane itself for null. Null when there is none. */
export async function findReportedJob(
  db: Database,
  claimed: ClaimedJobs,
  id: string,
  region: string | null,
): Promise<JobIdentity | null> {
  const known = claimed.find(id, region);
  if (known !== null) return known;
  const row = await systemQuery(db, "an agent's job is found by its region")
    .selectFrom("job")
    .select(["id", "organisation_id", "region", "resource_type", "resource_id"])
    .where("id", "=", id)
    .where("region", region === null ? "is" : "=", region)
    .executeTakeFirst();
  if (row === undefined) return null;
  claimed.remember(row);
  return row;
}
