import type { Schemas } from "@kule/contract/schemas";

/** A group of a summary as Postgres answers it; `position` is what the groups are ordered by. */
export type SummaryRow = Omit<Schemas["UsageSummaryItem"], "group"> & {
  readonly group_key: string | null;
  readonly position: string;
};
