/** A part of a migration, which is done or not. One that was interrupted is done again. */
export type MigrationStep =
  /** Statements of one transaction. */
  | string
  /** `create [unique] index concurrently NAME on …`: nobody waits for it. One that was left half made is made anew. */
  | { readonly index: string }
  /** One statement outside of a transaction that has no effect the second time: `drop index concurrently if exists …`. */
  | { readonly alone: string }
  /** One statement that changes at most some thousand rows, again and again until it changes none. */
  | { readonly untilNone: string };

/** Statements of one transaction, or steps of which each is one. */
export type Migration = string | readonly MigrationStep[];

export const stepsOf = (migration: Migration): readonly MigrationStep[] =>
  typeof migration === "string" ? [migration] : migration;

/** The statements of a step. */
export function statementsOf(step: MigrationStep): string {
  if (typeof step === "string") return step;
  if ("index" in step) return step.index;
  return "alone" in step ? step.alone : step.untilNone;
}

/** The name that a step's `create index concurrently` gives. */
export const indexNameIn = (statement: string): string | null =>
  /^\s*create\s+(?:unique\s+)?index\s+concurrently\s+([a-z_][a-z0-9_]*)\s+on\s/i.exec(statement)?.[1] ?? null;

/**
 * While a migration of several steps is under way, `kule_migration` has a row for each step that is done: the migration's name,
 * `#` and the step's number. With the last step they become the one row of the migration.
 */
export const markOf = (migration: string, step: number): string => `${migration}#${step}`;

/** The migration that a row of `kule_migration` is of. */
export const migrationOf = (row: string): string => row.split("#", 1)[0] ?? row;
