import type { Node } from "libpg-query";
import type { MigrationStep } from "./migration-steps.ts";

/** A statement as Postgres' own parser reads it. */
export type ParsedStatement = {
  readonly node: Node;
  /** With the comments before it. */
  readonly text: string;
};

export type ParsedStep = {
  readonly step: MigrationStep;
  readonly statements: readonly ParsedStatement[];
};

export type ParsedMigration = {
  readonly name: string;
  /** It is part of a release: it was checked then, and databases have it. */
  readonly isReleased: boolean;
  readonly steps: readonly ParsedStep[];
};

/**
 * A comment before a statement that lets it pass all the same, with its reason. `-- small: …` says that the table has few rows
 * in every installation; `-- obeyed: …` that the release before does without what is taken away, or does what is demanded.
 */
export function reasonIn(text: string, word: "small" | "obeyed"): string | null {
  return new RegExp(`^\\s*-- ${word}: (\\S.{9,})$`, "m").exec(text)?.[1] ?? null;
}

/** Where a fault is: the migration, its step, and how the statement begins. */
export function placeOf({ name }: ParsedMigration, step: number, { text }: ParsedStatement): string {
  const statement = text.replaceAll(/--.*$/gm, "").replaceAll(/\s+/g, " ").trim();
  return `${name}, step ${step + 1}, ${statement.length > 80 ? `${statement.slice(0, 77)}…` : statement}`;
}

/** Tables that an installation of a release does not have: made by a migration that is in none. */
export function newTablesOf(migrations: readonly ParsedMigration[]): ReadonlySet<string> {
  const tables = new Set<string>();
  for (const { isReleased, steps } of migrations)
    for (const { node } of isReleased ? [] : steps.flatMap(({ statements }) => statements))
      if ("CreateStmt" in node && node.CreateStmt.relation?.relname !== undefined)
        tables.add(node.CreateStmt.relation.relname);
  return tables;
}

/** All columns that an expression names. */
export function columnsIn(expression: unknown): string[] {
  if (Array.isArray(expression)) return expression.flatMap(columnsIn);
  if (typeof expression !== "object" || expression === null) return [];
  return Object.entries(expression).flatMap(([key, value]) => {
    if (key !== "ColumnRef") return columnsIn(value);
    const last = (value as { fields?: readonly Node[] }).fields?.at(-1);
    return last !== undefined && "String" in last ? [last.String.sval ?? ""] : [];
  });
}

/** The functions that an expression calls, without their schemas. */
export function functionsIn(expression: unknown): string[] {
  if (Array.isArray(expression)) return expression.flatMap(functionsIn);
  if (typeof expression !== "object" || expression === null) return [];
  return Object.entries(expression).flatMap(([key, value]) => {
    if (key !== "FuncCall") return functionsIn(value);
    const { funcname = [], args = [] } = value as { funcname?: readonly Node[]; args?: readonly Node[] };
    const last = funcname.at(-1);
    return [last !== undefined && "String" in last ? (last.String.sval ?? "") : "", ...functionsIn(args)];
  });
}

/** The names of a `drop` statement's objects: the last part of each. */
export function droppedNames(objects: readonly Node[] = []): string[] {
  return objects.map((each) => {
    const parts = "List" in each ? (each.List.items ?? []) : [each];
    const last = parts.at(-1);
    return last !== undefined && "String" in last ? (last.String.sval ?? "") : "";
  });
}
