import type { NotChecked } from "@kule/invariants/not-checked";
import type { Violation } from "@kule/invariants/violation";
import { type SqlBool, sql } from "kysely";
import type { Database } from "../../platform/database.ts";

/** A violation and since when every scan has found it. */
export type OpenViolation = Violation & { readonly since: string };

/** How a check went. */
export type CheckSummary = Pick<Violation, "invariant" | "check"> & {
  readonly violations: number;
  readonly duration_ms: number;
  /** Everything of it has been read since then; null: not yet everything. */
  readonly complete_since: string | null;
};

/** What the worker's last scan found, as it is stored. */
export type StoredReport = {
  readonly checked_at: Date;
  readonly age_seconds: number;
  readonly duration_ms: number;
  readonly interval_seconds: number;
  readonly checks: readonly CheckSummary[];
  readonly violations: readonly OpenViolation[];
  /** Checks that could not be carried out. */
  readonly failures: readonly (NotChecked & { readonly check: string })[];
};

/**
 * The last report; null before the first.
 *
 * @param after only one about a later moment, in Postgres' own text
 */
export async function findReport(db: Database, after?: string): Promise<StoredReport | null> {
  let rows = db
    .selectFrom("invariant_report")
    .select(["checked_at", "duration_ms", "interval_seconds", "checks", "violations", "failures"])
    .select(sql<number>`extract(epoch from clock_timestamp() - checked_at)::float8`.as("age_seconds"));
  if (after !== undefined) rows = rows.where(sql<SqlBool>`checked_at > ${after}::timestamptz`);
  const row = await rows.executeTakeFirst();
  return row === undefined ? null : (row as unknown as StoredReport);
}

/**
 * Requests a scan from the worker.
 *
 * @returns the moment of the request, by Postgres' clock
 */
export async function requestReport(db: Database): Promise<string> {
  const { rows } = await sql<{ asked_at: string }>`
    select asked.at::text as asked_at
      from (select clock_timestamp() as at) asked,
           lateral kule_task_add('check_invariants', '{}'::json, asked.at, 'check_invariants')`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error("Postgres did not say when it was asked");
  return row.asked_at;
}
