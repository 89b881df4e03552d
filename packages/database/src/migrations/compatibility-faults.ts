import type { AlterTableCmd, ColumnDef, Constraint, Node } from "libpg-query";
import {
  columnsIn,
  droppedNames,
  newTablesOf,
  type ParsedMigration,
  placeOf,
  reasonIn,
} from "./parsed-migration.ts";

/** The tables that the code of the release before knows, each with its columns. */
export type KnownTables = Readonly<Record<string, readonly string[]>>;

/**
 * Statements of migrations that take something away which the release before uses, or demand what it does not do: it works on
 * with the migrated database until its last process has been replaced, and again after a roll-back. Each text says what to do.
 *
 * @param migrations those after the baseline, in their order
 * @param before what the release before knows (released-tables.json)
 */
export function compatibilityFaults(migrations: readonly ParsedMigration[], before: KnownTables): string[] {
  const newTables = newTablesOf(migrations);
  const faults: string[] = [];
  for (const migration of migrations)
    for (const [index, { statements }] of migration.isReleased ? [] : migration.steps.entries())
      for (const statement of statements) {
        const isExcused = reasonIn(statement.text, "obeyed") !== null;
        for (const { text, hasExcuse } of found(statement.node, before, newTables))
          if (!hasExcuse || !isExcused) faults.push(`${placeOf(migration, index, statement)}: ${text}`);
      }
  return faults;
}

type Found = {
  readonly text: string;
  /** A comment `-- obeyed: …` may let it pass: what the release before does cannot be seen from here. */
  readonly hasExcuse: boolean;
};

const never = (text: string): Found => ({ text, hasExcuse: false });
const unless = (text: string): Found => ({
  text: `${text}; if it does without, say why in a comment before: -- obeyed: …`,
  hasExcuse: true,
});

function* found(node: Node, before: KnownTables, newTables: ReadonlySet<string>): Generator<Found> {
  if ("RenameStmt" in node) {
    const { relation, subname, renameType } = node.RenameStmt;
    const table = relation?.relname ?? "";
    if (
      newTables.has(table) ||
      (table in before && renameType === "OBJECT_COLUMN" && !knows(before, table, subname))
    )
      return;
    if (renameType === "OBJECT_COLUMN" || renameType === "OBJECT_TABLE")
      yield never(
        "the release before uses the old name: add the new one, use it, and drop the old one in a later release",
      );
    else yield unless("the release before may use the old name");
  } else if ("DropStmt" in node) yield* ofDrop(node.DropStmt, before, newTables);
  else if ("AlterTableStmt" in node) {
    const table = node.AlterTableStmt.relation?.relname ?? "";
    if (newTables.has(table)) return;
    for (const each of node.AlterTableStmt.cmds ?? [])
      if ("AlterTableCmd" in each) yield* ofCommand(table, each.AlterTableCmd, before);
  } else if ("IndexStmt" in node) {
    const { unique = false, relation, indexParams = [] } = node.IndexStmt;
    const table = relation?.relname ?? "";
    const columns = indexParams.flatMap((each) =>
      "IndexElem" in each
        ? [
            ...(each.IndexElem.name === undefined ? [] : [each.IndexElem.name]),
            ...columnsIn(each.IndexElem.expr),
          ]
        : [],
    );
    // With a column that it leaves empty, its rows differ from all others.
    if (unique && !newTables.has(table) && columns.every((column) => knows(before, table, column)))
      yield unless("the release before may write two rows that are alike");
  } else if ("GrantStmt" in node) {
    if (node.GrantStmt.is_grant !== true && !isOfEverybody(node.GrantStmt))
      yield unless("the release before may need the right");
  } else if ("TruncateStmt" in node) yield never("what it removes is gone, also for a roll-back");
  else if ("DeleteStmt" in node) {
    if (!newTables.has(node.DeleteStmt.relation?.relname ?? ""))
      yield unless("the release before may need the rows, also after a roll-back");
  }
}

/** `functionRights`: nobody is granted a right by being anybody. */
const isOfEverybody = ({
  targtype,
  grantees = [],
}: Extract<Node, { GrantStmt: unknown }>["GrantStmt"]): boolean =>
  targtype === "ACL_TARGET_ALL_IN_SCHEMA" &&
  grantees.every((each) => "RoleSpec" in each && each.RoleSpec.roletype === "ROLESPEC_PUBLIC");

const knows = (before: KnownTables, table: string, column: string | undefined): boolean =>
  column !== undefined && (before[table]?.includes(column) ?? false);

type Drop = Extract<Node, { DropStmt: unknown }>["DropStmt"];

function* ofDrop(
  { removeType, objects }: Drop,
  before: KnownTables,
  newTables: ReadonlySet<string>,
): Generator<Found> {
  const names = droppedNames(objects);
  if (removeType === "OBJECT_TABLE") {
    for (const name of names)
      if (name in before)
        yield never(
          `the release before knows ${name}: name it in retired.ts, release that, and drop it in the release after`,
        );
    return;
  }
  // A trigger or a policy of a table that is new goes with it.
  if (names.every((name) => newTables.has(name))) return;
  yield unless("the release before may use it");
}

function* ofCommand(table: string, command: AlterTableCmd, before: KnownTables): Generator<Found> {
  const { subtype, name = "", def } = command;
  switch (subtype) {
    case "AT_DropColumn":
      if (knows(before, table, name))
        yield never(
          `the release before knows ${table}.${name}: name it in retired.ts, release that, and drop it in the release after`,
        );
      return;
    case "AT_AddColumn":
      if (def !== undefined && "ColumnDef" in def && isDemanded(def.ColumnDef))
        yield never(
          "the release before does not fill it: give it a default, or let it be null until the release after",
        );
      return;
    case "AT_SetNotNull":
      if (knows(before, table, name)) yield unless(`the release before may leave ${name} empty`);
      return;
    case "AT_AlterColumnType":
      if (knows(before, table, name)) yield never("the release before reads and writes the old type");
      return;
    case "AT_ColumnDefault":
      if (def === undefined && knows(before, table, name))
        yield unless(`the release before may rely on the default of ${name}`);
      return;
    case "AT_DropConstraint":
      yield unless("the release before may rely on it, such as for `on conflict`");
      return;
    case "AT_AddConstraint":
      if (def !== undefined && "Constraint" in def && isTighter(table, def.Constraint, before))
        yield unless("the release before may write rows that it refuses");
      return;
    case "AT_EnableRowSecurity":
    case "AT_ForceRowSecurity":
    case "AT_EnableTrig":
    case "AT_DisableTrig":
      yield unless("the release before may be kept from its rows, or rely on what is switched off");
      return;
  }
}

const constraintsOf = ({ constraints = [] }: ColumnDef): Constraint[] =>
  constraints.flatMap((each) => ("Constraint" in each ? [each.Constraint] : []));

/** A column that an insert without it cannot leave out. */
function isDemanded(column: ColumnDef): boolean {
  const types = constraintsOf(column).map(({ contype }) => contype);
  const has = (type: Constraint["contype"]) => types.includes(type);
  return (
    (has("CONSTR_NOTNULL") || has("CONSTR_PRIMARY")) &&
    !has("CONSTR_DEFAULT") &&
    !has("CONSTR_IDENTITY") &&
    !has("CONSTR_GENERATED")
  );
}

/** Whether rows that the release before writes can be refused: those have no value in a column that it does not know. */
function isTighter(table: string, constraint: Constraint, before: KnownTables): boolean {
  const { contype, raw_expr: expression, keys = [], fk_attrs: own = [], indexname } = constraint;
  if (contype === "CONSTR_CHECK") return columnsIn(expression).some((column) => knows(before, table, column));
  // Its index has been checked.
  if (indexname !== undefined && indexname !== "") return false;
  const columns = droppedNames(contype === "CONSTR_FOREIGN" ? own : keys);
  return columns.length === 0 || columns.every((column) => knows(before, table, column));
}
