import type { ClientBase } from "pg";
import type { Deps } from "../../platform/deps.ts";
import type { AuditKeys } from "../audit-seals/audit-keys.ts";
import { changedMonths } from "./changed-months.ts";
import { removeOldAudit } from "./remove-old-audit.ts";
import { withoutLongWaits } from "./without-long-waits.ts";

const tables = ["job_step", "audit"] as const;
/** So many months after the present one have partitions. */
const monthsAhead = 3;
/** Rows that came after the last month, and that are moved into a new one while everybody waits. */
const mostRowsMoved = 10_000;

/**
 * Adds the months of the tables that only grow, and removes the months that the settings do not keep. Whatever fails, the
 * rest is done, and the task is run again.
 *
 * @param worker a connection of `kule_worker`, outside of a transaction
 */
export async function keepHistory(
  deps: Pick<Deps, "log" | "settings">,
  worker: ClientBase,
  keys: AuditKeys | null,
): Promise<void> {
  const { log } = deps;
  const { keepJobStepsDays, keepAuditDays } = deps.settings;
  const works = tables.map((table) => () => addMonths(deps, worker, table));
  if (keepJobStepsDays !== null) works.push(() => removeOldSteps(deps, worker, keepJobStepsDays));
  if (keepAuditDays !== null && keys !== null)
    works.push(() => removeOldAudit(deps, worker, keys, keepAuditDays));
  const errors: unknown[] = [];
  for (const work of works) {
    await work().catch((error: unknown) => {
      log.warn({ err: error }, "could not keep the partitions of history; retrying");
      errors.push(error);
    });
  }
  if (errors.length > 0) throw errors[0];
}

async function addMonths({ log }: Pick<Deps, "log">, worker: ClientBase, table: string): Promise<void> {
  const months = await withoutLongWaits(() =>
    changedMonths(worker, "kule_extend_history($1, $2, $3)", [table, monthsAhead, mostRowsMoved]),
  );
  if (months.length > 0) log.info({ table, months }, "added partitions of months");
}

async function removeOldSteps({ log }: Pick<Deps, "log">, worker: ClientBase, days: number): Promise<void> {
  const months = await withoutLongWaits(() => changedMonths(worker, "kule_remove_job_steps($1)", [days]));
  if (months.length > 0) log.info({ months }, "removed the steps of old jobs");
}
