import { isIPv4 } from "node:net";
import { crc32 } from "node:zlib";
import { type SelectQueryBuilder, sql } from "kysely";
import { plannedEachTime } from "./database.ts";
import { fieldError, Invalid } from "./errors.ts";

/** A column to sort by; the last one of a list must be unique within it. */
export type SortKey = { readonly column: string; readonly kind: "time" | "text" | "integer" | "address" };

export type Paging = {
  readonly limit: number;
  readonly cursor: string | undefined;
  /** Which list this is, its order included: a cursor of another one is refused. */
  readonly list: string;
  readonly direction: "asc" | "desc";
  readonly keys: readonly SortKey[];
};

export type Page<Row> = { readonly rows: Row[]; readonly nextCursor: string | null };

/** The query parameters of list operations. */
type PagingQuery = { readonly limit?: number; readonly cursor?: string };

const kindOf = { created_at: "time", name: "text", region: "text", address: "address" } as const;
type Sort = keyof typeof kindOf | `-${keyof typeof kindOf}`;

/** Newest first, as most lists are. */
export function newestFirst(list: string, query: PagingQuery, table: string): Paging {
  return inOrder(list, query, table);
}

/** In the requested order, newest first by default. */
export function inOrder(list: string, query: PagingQuery & { readonly sort?: Sort }, table: string): Paging {
  const { sort = "-created_at" } = query;
  const column = sort.replace("-", "") as keyof typeof kindOf;
  return {
    list,
    limit: query.limit ?? 50,
    cursor: query.cursor,
    direction: sort.startsWith("-") ? "desc" : "asc",
    keys: [
      { column: `${table}.${column}`, kind: kindOf[column] },
      // The order of the index that keeps names unique in a region.
      ...(column === "region" ? [{ column: `${table}.name`, kind: kindOf.name }] : []),
      { column: `${table}.id`, kind: "text" },
    ],
  };
}

/** A filter by a few values of some columns. */
export type OneOf = {
  /** The list's rows with all its other filters, from one table and without a selection. */
  // biome-ignore lint/suspicious/noExplicitAny: a query of any one table
  readonly rows: SelectQueryBuilder<any, any, any>;
  /** Values by column; a row of the list has those of one of these. There is an index of the columns and the sort keys. */
  readonly alternatives: readonly Readonly<Record<string, string>>[];
};

/**
 * Runs a list query for one page. The position is the sort keys of the last row seen, so that inserts and
 * deletes between two pages neither repeat nor skip rows that existed all along; times keep Postgres'
 * microseconds.
 *
 * @param oneOf a filter that hardly any row may pass: what each alternative has of the page is read by its index, and not by a
 * walk through all rows of the list
 * @throws Invalid when the cursor is not one that this list issued
 */
export async function fetchPage<DB, Tables extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, Tables, Row>,
  paging: Paging,
  oneOf?: OneOf,
): Promise<Page<Row>> {
  const { keys, limit } = paging;
  const chosen = oneOf === undefined ? query : query.where(isOnPageOf(oneOf, paging));
  const rows = (await firstRows(chosen, paging)
    .select(sql<string[]>`array[${sql.join(keys.map(asText))}]`.as("page_position"))
    .modifyEnd(sql.raw(plannedEachTime))
    .execute()) as (Row & { page_position: string[] })[];
  const hasMore = rows.length > limit;
  if (hasMore) rows.pop();
  const last = rows.at(-1);
  return { rows, nextCursor: hasMore && last !== undefined ? writeCursor(last.page_position, paging) : null };
}

function firstRows<DB, Tables extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, Tables, Row>,
  paging: Paging,
): SelectQueryBuilder<DB, Tables, Row> {
  return firstRowsAfter(
    query,
    paging,
    paging.keys.map(({ column }) => column),
  );
}

/**
 * In the list's order, after the cursor: the rows of a page, and one more.
 *
 * @param columns what the list's sort keys are in this query
 * @throws Invalid when the cursor is not one that this list issued
 */
export function firstRowsAfter<DB, Tables extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, Tables, Row>,
  paging: Paging,
  columns: readonly string[],
): SelectQueryBuilder<DB, Tables, Row> {
  const { keys, direction, limit, cursor } = paging;
  const position = cursor === undefined ? null : readCursor(cursor, paging);
  let paged = query;
  for (const column of columns) paged = paged.orderBy(sql.ref(column), direction);
  if (position !== null) {
    const refs = sql.join(columns.map((column) => sql.ref(column)));
    const values = sql.join(keys.map((key, index) => typed(key, position[index] ?? "")));
    const beyond = direction === "asc" ? sql`>` : sql`<`;
    paged = paged.where(sql<boolean>`(${refs}) ${beyond} (${values})`);
  }
  return paged.limit(limit + 1);
}

/** Whether a row is among the first of any of the alternatives. */
function isOnPageOf({ rows, alternatives }: OneOf, paging: Paging) {
  const last = paging.keys.at(-1)?.column ?? "";
  const parts = alternatives.map((alternative) => {
    let part = rows.select(sql.ref(last).as("key"));
    // Bound, and still known to the planner, which may choose a partial index for it: the statement is planned each time.
    for (const [column, value] of Object.entries(alternative)) part = part.where(sql.ref(column), "=", value);
    return firstRows(part, paging);
  });
  // An array, so that it is known before the rows are looked for: Postgres would otherwise walk through all rows of the list
  // and compare each.
  return sql<boolean>`${sql.ref(last)} = any (array(select key from (${sql.join(parts, sql` union all `)}) as part))`;
}

function asText(key: SortKey) {
  const column = sql.ref(key.column);
  return key.kind === "time"
    ? sql`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
    : key.kind === "address"
      ? sql`host(${column})`
      : sql`${column}::text`;
}

function typed(key: SortKey, value: string) {
  if (key.kind === "time") return sql`${value}::timestamptz`;
  if (key.kind === "address") return sql`${value}::inet`;
  return key.kind === "integer" ? sql`${value}::bigint` : sql`${value}::text`;
}

function writeCursor(position: readonly string[], paging: Paging): string {
  const text = JSON.stringify([listOf(paging), ...position]);
  return Buffer.from(`${crc32(text).toString(16).padStart(8, "0")}${text}`).toString("base64url");
}

const fits: { readonly [kind in SortKey["kind"]]: (value: string) => boolean } = {
  time: (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(value) && isRealTime(value),
  text: (value) => value.length <= 300 && !value.includes("\0"),
  integer: (value) => /^\d{1,18}$/.test(value),
  address: isIPv4,
};

/** There is no 30th of February, which Date would take for the 2nd of March. */
function isRealTime(value: string): boolean {
  const time = Date.parse(value);
  return !Number.isNaN(time) && new Date(time).toISOString().slice(0, 19) === value.slice(0, 19);
}

function readCursor(cursor: string, paging: Paging): string[] {
  const parsed = parsedCursor(cursor);
  if (parsed.length === paging.keys.length + 1 && parsed[0] === listOf(paging)) {
    const position = parsed.slice(1);
    if (paging.keys.every((key, index) => fits[key.kind](position[index] ?? ""))) return position;
  }
  throw new Invalid([fieldError("cursor", "invalid_format", "is not a cursor of this list")]);
}

/** The strings in a cursor; none when it is not one. The checksum is against typing errors, not against intent. */
function parsedCursor(cursor: string): string[] {
  if (!/^[A-Za-z0-9_-]+$/.test(cursor)) return [];
  const text = Buffer.from(cursor, "base64url").toString();
  const json = text.slice(8);
  if (crc32(json).toString(16).padStart(8, "0") !== text.slice(0, 8)) return [];
  try {
    const parsed: unknown = JSON.parse(json);
    return Array.isArray(parsed) && parsed.every((part) => typeof part === "string") ? parsed : [];
  } catch {
    return [];
  }
}

/** A cursor is for one list in one order. */
const listOf = (paging: Paging) =>
  `${paging.list} ${paging.direction} ${paging.keys.map((key) => key.column).join(",")}`;
