import { osFamilyOf } from "@kule/rules/catalog/images";
import { observationOf } from "@kule/rules/inventory/observation";
import type { ServerState, ServerStatus } from "@kule/rules/servers/lifecycle";
import type { ServerOwner } from "@kule/rules/servers/owner";
import type { Tx } from "../../platform/database.ts";
import { lockOpenJobs, type OpenJobs } from "../../platform/jobs.ts";
import { ownerOfRow } from "../../platform/server-owner.ts";
import type { StoredGuest } from "../inventory/index.ts";
import type { Ages, ServerRow } from "./store.ts";

type OpenJob = NonNullable<ServerState["openJob"]>;

/**
 * The facts that rules decide on. Without its ages it is not known whether the observations of its guest are
 * still valid.
 *
 * @param by what changes a server of its own; null for a customer or an operator
 */
export function stateOf(
  row: ServerRow,
  openJob: OpenJob | null,
  ages: Ages | null = null,
  by: ServerOwner | null = null,
): ServerState & { readonly id: string } {
  return {
    id: row.id,
    status: row.status as ServerStatus,
    deleteProtected: row.protect_delete,
    rebuildProtected: row.protect_rebuild,
    wasCreated: row.observed_generation > 0,
    openJob,
    agentAnswers: ages === null ? null : agentAnswersOf(row, ages),
    passwordByAgentOnly: osFamilyOf(row.image) === "windows",
    lockedFor: row.locked_reason,
    managedBy: row.managed_by_id === (by?.id ?? null) ? null : ownerOfRow(row),
  };
}

/** Whether its guest agent answers; null when it was not queried recently, or its region is silent. */
export function agentAnswersOf(row: Pick<ServerRow, "guest">, ages: Ages): boolean | null {
  const guest = row.guest as StoredGuest | null;
  const observation = observationOf({
    observedAgeSeconds: guest?.agent_at === undefined ? null : ages.agent,
    reportAgeSeconds: ages.report,
    everySeconds: ages.every,
  });
  return guest !== null && observation === "fresh" ? guest.agent : null;
}

/** The same for a server whose row this transaction has locked; its open jobs are locked too. */
export async function lockedState(
  tx: Tx,
  row: ServerRow,
  by: ServerOwner | null = null,
): Promise<{ readonly state: ReturnType<typeof stateOf>; readonly jobs: OpenJobs }> {
  const jobs = await lockOpenJobs(tx, row.organisation_id, row.id);
  const newest = jobs.queued ?? jobs.running;
  return {
    state: stateOf(
      row,
      newest === null
        ? null
        : { kind: newest.kind, action: actionOf(newest.parameters), isWaiting: jobs.running === null },
      null,
      by,
    ),
    jobs,
  };
}

/** Which act of its kind a job is. */
export function actionOf(parameters: unknown): string | null {
  return (parameters as { action?: string }).action ?? null;
}
