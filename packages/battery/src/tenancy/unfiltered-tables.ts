import { isOperator, isWord, type SqlNode, sqlNodes } from "./sql-nodes.ts";

/** A table that a query reads or writes, at the query's own level. */
export type TableUse = {
  readonly verb: "select" | "insert" | "update" | "delete";
  readonly table: string;
  /** An `organisation_id =` of this level excludes rows of others. */
  readonly isFiltered: boolean;
  /** Columns that this level's conditions name, for telling queries apart. */
  readonly by: readonly string[];
};

/** Every use of one of the tables in a statement, its subqueries and CTEs included, each at its own level. */
export function tableUses(statement: string, tables: ReadonlySet<string>): TableUse[] {
  const uses: TableUse[] = [];
  for (const part of splitAt(sqlNodes(statement), (node) => isOperator(node, ";")))
    readQuery(part, tables, uses);
  return uses;
}

const verbs = ["select", "insert", "update", "delete"] as const;
const startsQuery = ["with", "values", ...verbs];
const endsFrom = [
  ...["where", "group", "having", "order", "limit", "offset", "fetch", "for", "window", "returning", "set"],
  ...["union", "intersect", "except"],
];
const joinWords = ["join", "inner", "left", "right", "full", "cross", "natural", "outer", "lateral"];

function readQuery(nodes: readonly SqlNode[], tables: ReadonlySet<string>, uses: TableUse[]): void {
  for (const node of nodes) if (node.kind === "group") readGroup(node.nodes, tables, uses);
  const branches = splitAt(nodes, (node) => isWord(node, "union", "intersect", "except"));
  for (const branch of branches) readLevel(branch, tables, uses);
}

/** Queries inside of parentheses are levels of their own. */
function readGroup(nodes: readonly SqlNode[], tables: ReadonlySet<string>, uses: TableUse[]): void {
  if (isWord(nodes[0], ...startsQuery)) readQuery(nodes, tables, uses);
  else for (const node of nodes) if (node.kind === "group") readGroup(node.nodes, tables, uses);
}

type Source = { readonly table: string | null; readonly alias: string };
type Condition = { readonly nodes: readonly SqlNode[]; readonly guardsOnly: string | null };

function readLevel(nodes: readonly SqlNode[], tables: ReadonlySet<string>, uses: TableUse[]): void {
  const start = nodes.findIndex((node) => isWord(node, ...verbs));
  const verb = verbs.find((each) => isWord(nodes[start], each));
  if (verb === undefined) return;
  const level = nodes.slice(start);
  if (verb === "insert") {
    readInsert(level, tables, uses);
    return;
  }
  const { sources, conditions } = readSources(level, verb);
  const guarded = guardedSources(sources, conditions);
  const by = [...new Set(conditions.flatMap(({ nodes: condition }) => columnsIn(condition)))].sort();
  for (const { table, alias } of sources)
    if (table !== null && tables.has(table)) uses.push({ verb, table, isFiltered: guarded.has(alias), by });
}

function readInsert(level: readonly SqlNode[], tables: ReadonlySet<string>, uses: TableUse[]): void {
  const [source, next] = readSource(level, 2);
  if (source.table !== null && tables.has(source.table)) {
    const columns = level[next];
    const names = columns?.kind === "group" ? columns.nodes.flatMap(nameOf) : [];
    uses.push({
      verb: "insert",
      table: source.table,
      isFiltered: names.includes("organisation_id"),
      by: [],
    });
  }
  const rest = level.slice(next).findIndex((node) => isWord(node, "select"));
  if (rest >= 0) readLevel(level.slice(next + rest), tables, uses);
}

/**
 * The tables that a level reads: FROM, JOIN, USING, and the table that is changed; with the conditions of
 * WHERE and ON.
 */
function readSources(level: readonly SqlNode[], verb: "select" | "update" | "delete") {
  const sources: Source[] = [];
  const conditions: Condition[] = [];
  let index = 1;
  const take = (at: number): Source => {
    const [source, next] = readSource(level, at);
    sources.push(source);
    index = next;
    return source;
  };
  if (verb === "update") take(1);
  if (verb === "delete") take(2);
  let inFrom = verb === "delete";
  while (index < level.length) {
    const node = level[index];
    const isDistinctFrom = isWord(level[index - 1], "distinct") && isWord(level[index - 2], "is", "not");
    if (isWord(node, "from", "using") && !isDistinctFrom) {
      inFrom = true;
      take(index + 1);
    } else if (inFrom && isOperator(node, ",")) take(index + 1);
    else if (inFrom && isWord(node, ...joinWords)) {
      const kind = node?.kind === "word" ? node.text : "";
      while (isWord(level[index], ...joinWords)) index += 1;
      const joined = take(index);
      if (!isWord(level[index], "on")) continue;
      const end = endOf(level, index + 1, [...endsFrom, ...joinWords]);
      const isInner = kind === "join" || kind === "inner";
      if (isInner || kind === "left")
        conditions.push({ nodes: level.slice(index + 1, end), guardsOnly: isInner ? null : joined.alias });
      index = end;
    } else if (isWord(node, "where")) {
      inFrom = false;
      const end = endOf(level, index + 1, endsFrom);
      conditions.push({ nodes: level.slice(index + 1, end), guardsOnly: null });
      index = end;
    } else {
      if (isWord(node, ...endsFrom)) inFrom = false;
      index += 1;
    }
  }
  return { sources, conditions };
}

/** The table at that position with its alias; and where the next item begins. */
function readSource(level: readonly SqlNode[], at: number): [Source, next: number] {
  let index = at;
  while (isWord(level[index], "only", "lateral")) index += 1;
  const first = level[index];
  let table: string | null = null;
  if (first?.kind === "group") index += 1;
  else {
    table = textOf(first);
    index += 1;
    while (isOperator(level[index], ".")) {
      table = textOf(level[index + 1]);
      index += 2;
    }
    // A function's rows are no table.
    if (level[index]?.kind === "group" && !isWord(level[0], "insert")) {
      table = null;
      index += 1;
    }
  }
  if (isWord(level[index], "as")) index += 1;
  const alias = level[index];
  const isAlias =
    alias?.kind === "name" ||
    (alias?.kind === "word" &&
      ![...endsFrom, ...joinWords, "on", "using", "values", "select", "default", "overriding"].includes(
        alias.text,
      ));
  if (!isAlias) return [{ table, alias: table ?? "" }, index];
  return [{ table, alias: textOf(alias) ?? "" }, index + 1];
}

type Side = { readonly alias?: string; readonly column?: string; readonly isValue: boolean };

/** The tables whose rows of other organisations are kept out, following organisation_id from one to the next. */
function guardedSources(sources: readonly Source[], conditions: readonly Condition[]): Set<string> {
  const here = new Set(sources.map(({ alias }) => alias));
  const only = sources.length === 1 ? sources[0]?.alias : undefined;
  const equalities = conditions.flatMap(({ nodes, guardsOnly }) =>
    conjuncts(nodes).flatMap((nodes) => {
      const sides = equality(nodes);
      return sides === null ? [] : [{ sides, guardsOnly }];
    }),
  );
  const guarded = new Set<string>();
  for (let grew = true; grew; ) {
    grew = false;
    for (const { sides, guardsOnly } of equalities)
      for (const [side, other] of [sides, [sides[1], sides[0]] as const]) {
        const alias = side.alias ?? only;
        if (side.column === undefined || alias === undefined) continue;
        if (!here.has(alias) || guarded.has(alias)) continue;
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
  return guarded;
}

/** Conditions that must all hold; those of an OR do not count. */
function conjuncts(nodes: readonly SqlNode[]): (readonly SqlNode[])[] {
  const flat = withoutCases(nodes);
  if (flat.some((node) => isWord(node, "or"))) return [];
  return splitAt(flat, (node) => isWord(node, "and")).flatMap((part) => {
    const [first, ...more] = part;
    if (first?.kind === "group" && more.length === 0)
      return isWord(first.nodes[0], ...startsQuery) ? [] : conjuncts(first.nodes);
    return [part];
  });
}

/** A condition inside of a CASE alone excludes no rows. */
function withoutCases(nodes: readonly SqlNode[]): SqlNode[] {
  const kept: SqlNode[] = [];
  let depth = 0;
  for (const node of nodes) {
    if (isWord(node, "case")) depth += 1;
    else if (isWord(node, "end") && depth > 0) {
      depth -= 1;
      kept.push({ kind: "value", text: "case" });
    } else if (depth === 0) kept.push(node);
  }
  return kept;
}

function equality(nodes: readonly SqlNode[]): readonly [Side, Side] | null {
  const at = nodes.findIndex((node) => isOperator(node, "="));
  if (at < 0) return null;
  const sides = [sideOf(nodes.slice(0, at)), sideOf(nodes.slice(at + 1))] as const;
  return sides.some((side) => side.column !== undefined) ? sides : null;
}

/** One side of a comparison: an organisation's column, a value, or something that does not matter here. */
function sideOf(nodes: readonly SqlNode[]): Side {
  const cast = nodes.findIndex((node) => isOperator(node, "::"));
  const parts = cast < 0 ? nodes : nodes.slice(0, cast);
  const [first, dot, second, ...more] = parts;
  if (parts.length === 1 && first?.kind === "value") return { isValue: first.text !== "case" };
  // The parameter of a function; no table has such a column.
  if (parts.length === 1 && textOf(first) === "p_organisation_id") return { isValue: true };
  if (parts.length === 1 && textOf(first) === "organisation_id")
    return { column: "organisation_id", isValue: false };
  if (more.length > 0 || !isOperator(dot, ".")) return { isValue: false };
  const alias = textOf(first) ?? "";
  const column = textOf(second);
  // organisation.id is as good as the column that refers to it.
  if (column === "organisation_id" || (column === "id" && alias === "organisation"))
    return { alias, column: "organisation_id", isValue: false };
  return { isValue: false };
}

const notColumns = new Set([
  ...[
    "and",
    "or",
    "not",
    "is",
    "null",
    "in",
    "any",
    "all",
    "like",
    "between",
    "exists",
    "true",
    "false",
    "case",
  ],
  ...["when", "then", "else", "end", "distinct", "from", "array", "interval", "some"],
]);

/** Names of columns in a condition, those of its parentheses included, those of its subqueries not. */
function columnsIn(nodes: readonly SqlNode[]): string[] {
  return nodes.flatMap((node, index) => {
    if (node.kind === "group") return isWord(node.nodes[0], ...startsQuery) ? [] : columnsIn(node.nodes);
    const text = textOf(node);
    const next = nodes[index + 1];
    const isCast = isOperator(nodes[index - 1], "::");
    if (text === null || isCast || isOperator(next, ".") || next?.kind === "group") return [];
    return notColumns.has(text) && node.kind === "word" ? [] : [text];
  });
}

function nameOf(node: SqlNode): string[] {
  const text = textOf(node);
  return text === null ? [] : [text];
}

function textOf(node: SqlNode | undefined): string | null {
  return node?.kind === "word" || node?.kind === "name" ? node.text : null;
}

function endOf(level: readonly SqlNode[], from: number, words: readonly string[]): number {
  for (let index = from; index < level.length; index += 1) {
    const isDistinctFrom = isWord(level[index - 1], "distinct");
    if (isWord(level[index], ...words) && !isDistinctFrom && level[index + 1]?.kind !== undefined) {
      // A function may be called left or right.
      if (isWord(level[index], "left", "right") && level[index + 1]?.kind === "group") continue;
      return index;
    }
  }
  return level.length;
}

function splitAt(nodes: readonly SqlNode[], at: (node: SqlNode) => boolean): SqlNode[][] {
  const parts: SqlNode[][] = [[]];
  for (const node of nodes) {
    if (at(node)) parts.push([]);
    else parts.at(-1)?.push(node);
  }
  return parts.filter((part) => part.length > 0);
}
