import type { ServerState, ServerStatus } from "@kule/rules/servers/lifecycle";
import type { Tx } from "../../platform/database.ts";
import { lockOpenJobs, type OpenJobs } from "../../platform/jobs.ts";
import type { ServerRow } from "./store.ts";

type OpenJob = { readonly kind: string; readonly action: string | null };

/** What the rules decide on. */
export function stateOf(row: ServerRow, openJob: OpenJob | null): ServerState & { readonly id: string } {
  return {
    id: row.id,
    status: row.status as ServerStatus,
    deleteProtected: row.protect_delete,
    rebuildProtected: row.protect_rebuild,
    wasCreated: row.observed_generation > 0,
    openJob,
    lockedFor: row.locked_reason,
  };
}

/** The same of a server whose row this transaction has locked; its open jobs are locked along. */
export async function lockedState(
  tx: Tx,
  row: ServerRow,
): Promise<{ readonly state: ReturnType<typeof stateOf>; readonly jobs: OpenJobs }> {
  const jobs = await lockOpenJobs(tx, row.organisation_id, row.id);
  const newest = jobs.queued ?? jobs.running;
  return {
    state: stateOf(row, newest === null ? null : { kind: newest.kind, action: actionOf(newest.parameters) }),
    jobs,
  };
}

/** Which act of its kind a job is. */
export function actionOf(parameters: unknown): string | null {
  return (parameters as { action?: string }).action ?? null;
}
