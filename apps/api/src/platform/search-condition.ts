import { type RawBuilder, sql } from "kysely";

/** The texts that a list's `q` searches. */
export type Searched = {
  /** Columns of text. */
  readonly texts: readonly string[];
  /** A column of labels: their keys, their values, and both as `key=value`. */
  readonly labels?: string;
  /** Text that is more than a column, such as addresses. */
  readonly also?: readonly RawBuilder<unknown>[];
};

/**
 * Whether one of the texts or labels contains what was typed, in upper or lower case.
 *
 * The database's trigram indexes are not used: with row-level security Postgres uses no index for an operator
 * that could reveal hidden rows (ADR 0004), and an index over the names of all organisations would find
 * others' rows first. The rows of the one organisation are read by the index that orders the list, and its
 * quotas bound them.
 */
export function searchCondition(typed: string, { texts, labels, also = [] }: Searched): RawBuilder<boolean> {
  const contains = (text: RawBuilder<unknown>, part: string) =>
    sql`position(lower(${part}::text) in lower(${text})) > 0`;
  const holds = (text: RawBuilder<unknown>) => contains(text, typed);
  const places = [
    ...texts.map((column) => holds(sql`coalesce(${sql.ref(column)}, '')`)),
    ...also,
    ...(labels === undefined
      ? []
      : [
          sql`(${sql.join(
            // To compare the text of all labels at once is many times faster. Neither keys nor values contain '='.
            typed.split("=").map((part) => contains(sql`${sql.ref(labels)}::text`, part)),
            sql` and `,
          )} and exists (select from jsonb_each_text(${sql.ref(labels)}) as label
            where ${holds(sql`label.key || '=' || label.value`)}))`,
        ]),
  ];
  return sql<boolean>`(${sql.join(places, sql` or `)})`;
}
