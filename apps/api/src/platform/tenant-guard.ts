import { tenantTables } from "@kule/database/tenant-tables";
import type { KyselyPlugin, OperationNode, RootOperationNode } from "kysely";

/*
 * The first defence between organisations is organisation_id in every query. This plugin enforces it in test
 * builds: it checks each compiled query and throws when a tenant table has no `organisation_id =` of its own
 * level. Conditions inside an OR, a subquery or a CTE do not count, and neither does raw SQL that does not
 * name the column.
 */

/** Row-level security does not cover these two, because some of their rows belong to no organisation. */
const guardedTables: ReadonlySet<string> = new Set([...tenantTables, "token", "audit"]);

// The nodes of Kysely's tree are walked by kind; their exact types differ in more ways than matter here.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Node = OperationNode & Record<string, any>;

export class UnguardedQuery extends Error {}

export const tenantGuard: KyselyPlugin = {
  transformQuery({ node }) {
    walk(node as Node);
    return node as RootOperationNode;
  },
  transformResult: async ({ result }) => result,
};

function walk(node: Node): void {
  checkLevel(node);
  for (const value of Object.values(node)) {
    const children = Array.isArray(value) ? value : [value];
    for (const child of children) if (isNode(child)) walk(child);
  }
}

function checkLevel(node: Node): void {
  if (node.kind === "SelectQueryNode") checkTables([...(node.from?.froms ?? [])], node);
  else if (node.kind === "UpdateQueryNode") checkTables([node.table, ...(node.from?.froms ?? [])], node);
  else if (node.kind === "DeleteQueryNode")
    checkTables([...(node.from?.froms ?? []), ...(node.using?.tables ?? [])], node);
  else if (node.kind === "InsertQueryNode") checkInsert(node);
  else if (node.kind === "RawNode") checkRaw(node);
}

type Table = { readonly name: string; readonly alias: string };

function checkTables(expressions: readonly Node[], query: Node): void {
  const joins: readonly Node[] = query.joins ?? [];
  const tables = [...expressions, ...joins.map((join) => join.table)].flatMap((each) => tableOf(each) ?? []);
  const tenants = tables.filter((table) => guardedTables.has(table.name));
  if (tenants.length === 0) return;

  const conditions = [
    ...conjuncts(query.where?.where).flatMap((condition) => equality(condition, null)),
    ...joins.flatMap(conditionsOf),
  ];
  const here = new Set(tables.map((table) => table.alias));
  const guarded = new Set<string>();
  const only = tables.length === 1 ? tables[0]?.alias : undefined;
  let grew = true;
  while (grew) {
    grew = false;
    for (const { sides, guardsOnly } of conditions) {
      for (const [side, other] of [sides, [...sides].reverse()]) {
        if (side?.column === undefined || other === undefined) continue;
        const alias = side.alias ?? only;
        if (alias === undefined || !here.has(alias) || guarded.has(alias)) continue;
        if (guardsOnly !== null && guardsOnly !== alias) continue;
        const isAnchored =
          other.column === undefined
            ? other.isValue
            : other.alias !== undefined && (guarded.has(other.alias) || !here.has(other.alias));
        if (!isAnchored) continue;
        guarded.add(alias);
        grew = true;
      }
    }
  }
  const open = tenants.filter((table) => !guarded.has(table.alias));
  if (open.length > 0)
    throw new UnguardedQuery(
      `no organisation_id = … on ${open.map((table) => table.name).join(", ")}; say systemQuery(db, reason) if this is meant`,
    );
}

function checkInsert(node: Node): void {
  const table = tableOf(node.into);
  if (table === null || !guardedTables.has(table.name)) return;
  const columns: readonly Node[] = node.columns ?? [];
  if (!columns.some((column) => column.column?.name === "organisation_id"))
    throw new UnguardedQuery(`an insert into ${table.name} names no organisation_id`);
}

function checkRaw(node: Node): void {
  const text = (node.sqlFragments as readonly string[]).join(" ? ").toLowerCase();
  if (text.includes("organisation_id")) return;
  for (const [, table] of text.matchAll(/\b(?:from|join|update|into)\s+(?:only\s+)?([a-z_]+)/g))
    if (table !== undefined && guardedTables.has(table))
      throw new UnguardedQuery(`raw SQL on ${table} names no organisation_id`);
}

function tableOf(node: Node): Table | null {
  if (node.kind === "TableNode") {
    const name = node.table.identifier.name as string;
    return { name, alias: name };
  }
  if (node.kind === "AliasNode") {
    const table = tableOf(node.node);
    if (node.alias.kind !== "IdentifierNode") return table;
    return { name: table?.name ?? "", alias: node.alias.name };
  }
  return null;
}

function conjuncts(node: Node | undefined): Node[] {
  if (node === undefined) return [];
  if (node.kind === "AndNode") return [...conjuncts(node.left), ...conjuncts(node.right)];
  if (node.kind === "ParensNode") return conjuncts(node.node);
  return [node];
}

type Side = { readonly alias?: string; readonly column?: string; readonly isValue: boolean };

type Equality = {
  readonly sides: readonly [Side, Side];
  /** The only table whose rows the condition can exclude; null when it can exclude any. */
  readonly guardsOnly: string | null;
};

/** An `=` that has organisation_id on one of its sides. */
function equality(node: Node, guardsOnly: string | null): Equality[] {
  if (node.kind !== "BinaryOperationNode" || node.operator.operator !== "=") return [];
  const sides = [sideOf(node.leftOperand), sideOf(node.rightOperand)] as const;
  return sides.some((side) => side.column === "organisation_id") ? [{ sides, guardsOnly }] : [];
}

/**
 * The tables that a join's ON restricts: with an inner join rows of any table, with a left join of the joined
 * table only.
 */
function conditionsOf(join: Node): Equality[] {
  const isInner = join.joinType === "InnerJoin" || join.joinType === "LateralInnerJoin";
  const isLeft = join.joinType === "LeftJoin" || join.joinType === "LateralLeftJoin";
  const joined = tableOf(join.table)?.alias;
  if (!isInner && (!isLeft || joined === undefined)) return [];
  return conjuncts(join.on?.on).flatMap((condition) =>
    equality(condition, isInner ? null : (joined ?? null)),
  );
}

function sideOf(node: Node): Side {
  if (node.kind === "ReferenceNode" && node.column.kind === "ColumnNode") {
    const column = node.column.column.name as string;
    const alias = node.table?.table.identifier.name as string | undefined;
    // organisation.id is as good as the column that refers to it.
    if (column === "id" && alias === "organisation")
      return { alias, column: "organisation_id", isValue: false };
    if (column !== "organisation_id") return { isValue: false };
    return alias === undefined ? { column, isValue: false } : { alias, column, isValue: false };
  }
  return { isValue: node.kind === "ValueNode" };
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "kind" in value && typeof value.kind === "string";
}
