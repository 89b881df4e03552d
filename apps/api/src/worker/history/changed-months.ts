import type { ClientBase } from "pg";

/** The months that a function of the database (history.ts of the migrations) returns, such as `2026-11`. */
export async function changedMonths(
  worker: ClientBase,
  call: string,
  values: readonly unknown[],
): Promise<readonly string[]> {
  const { rows } = await worker.query<{ month: string }>(
    `select to_char(month, 'YYYY-MM') as month from ${call} month`,
    [...values],
  );
  return rows.map(({ month }) => month);
}
