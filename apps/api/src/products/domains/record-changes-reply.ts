import type { Schemas } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { viewJobOrNone } from "../jobs/index.ts";
import { viewRecordSets } from "./record-view.ts";
import type { WrittenChanges } from "./write-changes.ts";

/** Each list of the answer has at most so many. */
const mostToldChanges = 1_000;

/** The answer to changes of record sets: the difference, and the job that brings it to the name servers. */
export async function recordChangesReply(
  request: ApiRequest,
  tx: Tx,
  written: WrittenChanges,
): Promise<Reply> {
  const { domain, job } = written;
  const created = written.created.slice(0, mostToldChanges);
  const changed = written.changed.slice(0, mostToldChanges);
  const deleted = written.deleted.slice(0, mostToldChanges);
  const rows = [...created, ...changed.flatMap(({ before, after }) => [before, after]), ...deleted];
  const views = await viewRecordSets(tx, domain, rows);
  const viewOf = new Map(rows.map((row, index) => [row, views[index] as Schemas["RecordSet"]]));
  const view = (row: (typeof rows)[number]) => viewOf.get(row) as Schemas["RecordSet"];
  const all = written.created.length + written.changed.length + written.deleted.length;
  const body: Schemas["RecordChanges"] = {
    dry_run: request.dryRun,
    created: created.map(view),
    changed: changed.map(({ before, after }) => ({ before: view(before), after: view(after) })),
    deleted: deleted.map(view),
    left_out: all - created.length - changed.length - deleted.length,
    job: request.dryRun ? null : await viewJobOrNone(tx, job, request.caller),
  };
  return reply(body.job === null ? 200 : 202, body);
}
