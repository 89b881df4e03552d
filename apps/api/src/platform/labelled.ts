import { type LabelTerm, parseLabelSelector } from "@kule/rules/labels/selector";
import { sql } from "kysely";
import type { Database, Tx } from "./database.ts";

/** Of more rows than this a walk through the list soon finds a page. */
const MOST_ROWS = 1000;

/** Tables with an index of their labels (packages/database, label-terms.ts). */
type LabelledTable = "server" | "usage_event" | "usage_segment";

/**
 * The ids of the organisation's rows that have the labels which a selector asks for: the rows that pass it are among them. Null when
 * they are many, or when it only says which labels are not wanted, or cannot be read.
 */
export async function labelledRows(
  db: Database | Tx,
  table: LabelledTable,
  organisationId: string,
  selector: string | undefined,
): Promise<readonly string[] | null> {
  const parsed = parseLabelSelector(selector ?? "");
  if (!parsed.ok) return null;
  const all = parsed.terms.flatMap(neededTerm);
  const any = parsed.terms.flatMap((term) => (term.operator === "in" ? [termsOf(term)] : [])).at(0);
  if (all.length === 0 && any === undefined) return null;
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.raw(`kule_labelled_${table}`)}(
      p_organisation_id => ${organisationId}, p_all => ${all}::text[], p_any => ${any ?? null}::text[],
      p_most => ${MOST_ROWS + 1}::integer) id`.execute(db);
  return rows.length > MOST_ROWS ? null : rows.map(({ id }) => id);
}

export const isOneOf = (column: string, ids: readonly string[]) =>
  sql<boolean>`${sql.ref(column)} = any (${[...ids]}::text[])`;

function neededTerm(term: LabelTerm): readonly string[] {
  if (term.operator === "equals") return [`${term.key}=${term.value}`];
  return term.operator === "exists" ? [term.key] : [];
}

const termsOf = ({ key, values }: Extract<LabelTerm, { operator: "in" | "not_in" }>) =>
  values.map((value) => `${key}=${value}`);
