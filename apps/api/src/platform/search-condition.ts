import { type RawBuilder, sql } from "kysely";

/** Where a list's `q` is looked for. */
export type Searched = {
  /** Columns of text. */
  readonly texts: readonly string[];
  /** A column of labels: their keys, their values, and both as `key=value`. */
  readonly labels?: string;
  /** Text that is more than a column, such as addresses. */
  readonly also?: readonly RawBuilder<unknown>[];
};

/**
 * Whether one of the texts or labels holds what was typed, in small letters or capitals.
 *
 * Not by trigrams, which the database has: row-level security lets Postgres ask no index by an operator that could tell
 * of rows that the policy hides (ADR 0004), and an index over the names of all organisations would find others' rows
 * first. The rows of the one organisation are read by the index that orders the list, and its quotas bound them.
 */
export function searchCondition(typed: string, { texts, labels, also = [] }: Searched): RawBuilder<boolean> {
  const holds = (text: RawBuilder<unknown>) => sql`position(lower(${typed}::text) in lower(${text})) > 0`;
  const places = [
    ...texts.map((column) => holds(sql`coalesce(${sql.ref(column)}, '')`)),
    ...also,
    ...(labels === undefined
      ? []
      : [
          sql`exists (select from jsonb_each_text(${sql.ref(labels)}) as label
            where ${holds(sql`label.key || '=' || label.value`)})`,
        ]),
  ];
  return sql<boolean>`(${sql.join(places, sql` or `)})`;
}
