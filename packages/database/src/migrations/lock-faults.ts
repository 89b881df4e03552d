import type { AlterTableCmd, AlterTableStmt, ColumnDef, Constraint, Node } from "libpg-query";
import { indexNameIn, type MigrationStep, statementsOf } from "./migration-steps.ts";
import {
  columnsIn,
  functionsIn,
  newTablesOf,
  type ParsedMigration,
  type ParsedStatement,
  placeOf,
  reasonIn,
} from "./parsed-migration.ts";

/** Functions that a default may call: they have one value for the whole statement, so no row is written. */
const stableFunctions = new Set(["now", "transaction_timestamp", "statement_timestamp", "current_setting"]);

/** What is known of the columns when a statement runs. */
type Known = {
  readonly isNew: (table: string) => boolean;
  /** `table.column` whose check `column is not null` has been validated. */
  readonly checkedNotNull: Set<string>;
  /** The column of such a check by `table.constraint`, until it is validated. */
  readonly unvalidated: Map<string, string>;
};

/**
 * Statements of migrations that would keep everybody from a table for longer than a moment: those that read or write all its rows
 * under a lock. Each text says what to write instead.
 *
 * @param migrations those after the baseline, in their order
 * @param allowed statements that are in order as they are
 */
export function lockFaults(
  migrations: readonly ParsedMigration[],
  allowed: readonly string[] = [],
): string[] {
  const newTables = newTablesOf(migrations);
  const known: Known = {
    isNew: (table) => newTables.has(table),
    checkedNotNull: new Set(),
    unvalidated: new Map(),
  };
  const faults: string[] = [];
  for (const migration of migrations)
    for (const [index, { step, statements }] of migration.steps.entries()) {
      const ofStep = [...stepFaults(step, statements.length)];
      for (const statement of statements) {
        const found = [...statementFaults(statement.node, step, known)];
        if (allowed.includes(statement.text.trim()) || reasonIn(statement.text, "small") !== null) continue;
        ofStep.push(...found.map((text) => `${placeOf(migration, index, statement)}: ${text}`));
      }
      if (statements.length > 1 && statements.some(validates))
        ofStep.push(
          `${migration.name}, step ${index + 1}: validate a constraint in a step of its own; what else the step locks is locked for as long`,
        );
      if (!migration.isReleased) faults.push(...ofStep);
    }
  return faults;
}

function* stepFaults(step: MigrationStep, statements: number): Generator<string> {
  if (typeof step === "string") return;
  const text = statementsOf(step);
  if (statements !== 1) yield `a step that is no transaction holds one statement: ${text}`;
  if ("index" in step && indexNameIn(text) === null)
    yield `a step for an index is \`create index concurrently NAME on …\`: ${text}`;
  if ("alone" in step && !/^\s*(drop|reindex|alter)\s[^;]*concurrently/i.test(text))
    yield `only what runs concurrently is a step of its own outside of transactions: ${text}`;
  if ("alone" in step && /^\s*drop/i.test(text) && !/\bif exists\b/i.test(text))
    yield `it may be done twice, so it needs \`if exists\`: ${text}`;
  if ("untilNone" in step && !/\blimit\s+\d{1,5}\b/i.test(text))
    yield `a step that is repeated changes a bounded number of rows, by a subquery with \`limit\`: ${text}`;
}

const validates = ({ node }: ParsedStatement): boolean =>
  "AlterTableStmt" in node &&
  commandsOf(node.AlterTableStmt).some(({ subtype }) => subtype === "AT_ValidateConstraint");

function* statementFaults(node: Node, step: MigrationStep, known: Known): Generator<string> {
  const isTransaction = typeof step === "string";
  if ("AlterTableStmt" in node) {
    const table = node.AlterTableStmt.relation?.relname ?? "";
    for (const command of commandsOf(node.AlterTableStmt))
      for (const fault of commandFaults(table, command, known)) if (!known.isNew(table)) yield fault;
  } else if ("IndexStmt" in node) {
    if (node.IndexStmt.concurrent !== true && !known.isNew(node.IndexStmt.relation?.relname ?? ""))
      yield "nobody can write while the index is made: use a step {index: `create index concurrently …`}";
    if (node.IndexStmt.concurrent === true && (isTransaction || !("index" in step)))
      yield "it cannot run in a transaction: make it a step {index: …}";
  } else if ("DropStmt" in node) {
    if (node.DropStmt.removeType === "OBJECT_INDEX" && node.DropStmt.concurrent !== true)
      yield "it locks the table: use a step {alone: `drop index concurrently if exists …`}";
    if (node.DropStmt.concurrent === true && (isTransaction || !("alone" in step)))
      yield "it cannot run in a transaction: make it a step {alone: …}";
  } else if ("UpdateStmt" in node || "DeleteStmt" in node) {
    const { relation } = "UpdateStmt" in node ? node.UpdateStmt : node.DeleteStmt;
    if (isTransaction && !known.isNew(relation?.relname ?? ""))
      yield "it locks every row that it changes until all are changed: use a step {untilNone: …} with a limit";
  } else if (
    "TruncateStmt" in node ||
    "ClusterStmt" in node ||
    "RefreshMatViewStmt" in node ||
    "LockStmt" in node
  )
    yield "it keeps everybody from the table";
  else if ("VacuumStmt" in node) yield "it cannot run in a transaction; Postgres vacuums by itself";
  else if ("ReindexStmt" in node) {
    if (!/concurrently/.test(JSON.stringify(node.ReindexStmt.params ?? [])))
      yield "nobody can write meanwhile: reindex concurrently";
  } else if ("DoStmt" in node) yield "what a block does cannot be checked: write its statements";
  else if ("VariableSetStmt" in node && /timeout/.test(node.VariableSetStmt.name ?? ""))
    yield "`kule-server migrate` sets how long a lock is waited for";
  else if ("TransactionStmt" in node) yield "each step is a transaction: write another step";
}

function commandsOf({ cmds = [] }: AlterTableStmt): AlterTableCmd[] {
  return cmds.flatMap((each) => ("AlterTableCmd" in each ? [each.AlterTableCmd] : []));
}

function* commandFaults(table: string, command: AlterTableCmd, known: Known): Generator<string> {
  const { subtype, name = "", def } = command;
  switch (subtype) {
    case "AT_AddColumn":
      if (def !== undefined && "ColumnDef" in def) yield* columnFaults(def.ColumnDef);
      return;
    case "AT_AddConstraint":
      if (def !== undefined && "Constraint" in def) yield* constraintFaults(table, def.Constraint, known);
      return;
    case "AT_ValidateConstraint": {
      const column = known.unvalidated.get(`${table}.${name}`);
      if (column !== undefined) known.checkedNotNull.add(`${table}.${column}`);
      return;
    }
    case "AT_SetNotNull":
      if (!known.checkedNotNull.has(`${table}.${name}`))
        yield `all rows are read under a lock: before it, add constraint … check (${name} is not null) not valid, and validate it in a step of its own`;
      return;
    case "AT_AlterColumnType":
      yield "the table is written anew under a lock: add another column, write both, fill it by steps {untilNone}, and drop the old one in a later release";
      return;
    case "AT_DetachPartition":
      if (def === undefined || !("PartitionCmd" in def) || def.PartitionCmd.concurrent !== true)
        yield "detach the partition concurrently, in a step {alone}";
      return;
    case "AT_AttachPartition":
    case "AT_SetTableSpace":
    case "AT_SetLogged":
    case "AT_SetUnLogged":
    case "AT_SetAccessMethod":
    case "AT_AddIdentity":
      yield "all rows are read or written under a lock";
      return;
  }
}

function* columnFaults({ constraints = [], typeName }: ColumnDef): Generator<string> {
  if (/serial/.test(JSON.stringify(typeName?.names ?? []))) yield "every row is written for a serial number";
  for (const each of constraints) {
    if (!("Constraint" in each)) continue;
    const { contype, raw_expr: value } = each.Constraint;
    const called =
      contype === "CONSTR_DEFAULT" ? functionsIn(value).filter((name) => !stableFunctions.has(name)) : [];
    if (called.length > 0)
      yield `every row is written, since ${called.join(", ")}() may have another value for each: add the column without a default, set the default, and fill the rows by a step {untilNone}`;
    if (contype === "CONSTR_GENERATED" || contype === "CONSTR_IDENTITY") yield "every row is written for it";
    if (contype === "CONSTR_CHECK")
      yield "all rows are read under a lock: add the check afterwards, not valid, and validate it in a step of its own";
    if (contype === "CONSTR_UNIQUE" || contype === "CONSTR_PRIMARY")
      yield "an index is made under a lock: make it concurrently, and add the constraint using it";
    if (contype === "CONSTR_FOREIGN" && constraints.some(isDefault))
      yield "all rows are read under a lock: add the reference afterwards, not valid";
  }
}

const isDefault = (node: Node): boolean =>
  "Constraint" in node && node.Constraint.contype === "CONSTR_DEFAULT";

function* constraintFaults(table: string, constraint: Constraint, known: Known): Generator<string> {
  const {
    contype,
    conname = "",
    raw_expr: expression,
    skip_validation: isNotValid = false,
    indexname,
  } = constraint;
  switch (contype) {
    case "CONSTR_CHECK":
    case "CONSTR_FOREIGN": {
      if (!isNotValid)
        yield "all rows are read under a lock: add it not valid, and validate it in a step of its own";
      const [column, ...others] = columnsIn(expression);
      const test = expression !== undefined && "NullTest" in expression ? expression.NullTest : null;
      if (test?.nulltesttype === "IS_NOT_NULL" && column !== undefined && others.length === 0) {
        if (isNotValid) known.unvalidated.set(`${table}.${conname}`, column);
        else known.checkedNotNull.add(`${table}.${column}`);
      }
      return;
    }
    case "CONSTR_UNIQUE":
    case "CONSTR_PRIMARY":
      if (indexname === undefined || indexname === "")
        yield "an index is made under a lock: make it concurrently, and add the constraint using it";
      return;
    case "CONSTR_EXCLUSION":
      yield "an index is made under a lock, and there is no way without one: make another table";
      return;
    case "CONSTR_NOTNULL":
      yield "Postgres 15 to 17 do not know it: add a check (… is not null) not valid, validate it, and set not null";
      return;
  }
}
