import type { Schemas } from "@kule/contract/schemas";
import type { Tx } from "../../platform/database.ts";
import type { JobRow } from "../../platform/jobs.ts";
import { findJob } from "./store.ts";
import { type Viewer, viewJob } from "./view.ts";

/** The view of the job that a change has led to; null when it needs none. */
export async function viewJobOrNone(
  tx: Tx,
  job: JobRow | null,
  viewer: Viewer,
): Promise<Schemas["Job"] | null> {
  return job === null ? null : viewWrittenJob(tx, job, viewer);
}

/** The view of a job that a mutation has just written. */
export async function viewWrittenJob(tx: Tx, job: JobRow, viewer: Viewer): Promise<Schemas["Job"]> {
  const details = await findJob(tx, job.organisation_id, job.id);
  if (details === null) throw new Error(`job ${job.id} went away`);
  return viewJob(details, details.steps, viewer);
}
