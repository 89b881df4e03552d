import { type LabelTerm, parseLabelSelector } from "@kule/rules/labels/selector";
import { type RawBuilder, sql } from "kysely";
import { fieldError, Invalid } from "./errors.ts";

/**
 * A label selector as a condition on a jsonb column; its texts are bound parameters.
 *
 * @throws Invalid for `label_selector` when it cannot be read
 */
export function labelCondition(selector: string, column: string): RawBuilder<boolean> {
  const parsed = parseLabelSelector(selector);
  if (!parsed.ok) throw new Invalid([fieldError("label_selector", "invalid_format", parsed.message)]);
  if (parsed.terms.length === 0) return sql<boolean>`true`;
  const conditions = sql.join(
    parsed.terms.map((term) => condition(term, column)),
    sql` and `,
  );
  // A CASE, which the planner takes for something that half of the rows pass: with row-level security it may not look into
  // the column's statistics, would expect hardly any row, and read and sort all of them instead of the first page.
  return sql<boolean>`case when ${conditions} then true else false end`;
}

/** A label that is not there is unequal to every value. */
function condition(term: LabelTerm, column: string): RawBuilder<unknown> {
  const labels = sql.ref(column);
  switch (term.operator) {
    case "equals":
      return sql`${labels} @> ${JSON.stringify({ [term.key]: term.value })}::jsonb`;
    case "not_equals":
      return sql`not (${labels} @> ${JSON.stringify({ [term.key]: term.value })}::jsonb)`;
    case "in":
      return sql`${labels} ->> ${term.key}::text = any (${[...term.values]}::text[])`;
    case "not_in":
      return sql`(${labels} ->> ${term.key}::text = any (${[...term.values]}::text[])) is not true`;
    case "exists":
      return sql`jsonb_exists(${labels}, ${term.key})`;
    case "absent":
      return sql`not jsonb_exists(${labels}, ${term.key})`;
  }
}
