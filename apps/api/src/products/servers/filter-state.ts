import { writeTheFilter } from "@kule/rules/jobs/actions";
import type { Tx } from "../../platform/database.ts";
import { hasAttachments } from "../../platform/filter-refresh.ts";
import type { JobRow } from "../../platform/jobs.ts";
import { noFilter, unknownFilter } from "../inventory/index.ts";
import type { ServerRow } from "./store.ts";

type Filtered = Pick<ServerRow, "id" | "organisation_id" | "region" | "filter_wanted" | "filter_applied">;

const writes: ReadonlySet<string> = new Set(writeTheFilter);

/** Whether the job writes the rules of its server. */
export const writesFilter = ({ kind }: Pick<JobRow, "kind">): boolean => writes.has(kind);

/**
 * A queued job of the server is ended without being settled. What an earlier attempt of it wrote of the
 * filter stays on the VM, and how much is not known. The rules' own job has not been done either, even where
 * it was only to compare.
 */
export async function leaveFilter(tx: Tx, server: Filtered, job: JobRow): Promise<void> {
  if (!writesFilter(job) || (job.epoch === 0 && job.kind !== "FirewallApply")) return;
  if (!(await isFiltered(tx, server))) return;
  await tx
    .updateTable("server")
    .set({ filter_applied: unknownFilter })
    .where("organisation_id", "=", server.organisation_id)
    .where("id", "=", server.id)
    .execute();
}

/** Some firewall may have, or have had, something to do with it. */
async function isFiltered(tx: Tx, server: Omit<Filtered, "id">): Promise<boolean> {
  return mayBeFiltered(server, false) || (await hasAttachments(tx, server.organisation_id, server.region));
}

/** The same, when it is known whether a firewall is attached to anything in the server's region. */
export function mayBeFiltered(
  server: Pick<Filtered, "filter_wanted" | "filter_applied">,
  isAnyAttached: boolean,
): boolean {
  return isAnyAttached || server.filter_wanted !== noFilter || server.filter_applied !== noFilter;
}
