import type { Answer } from "./fake-api.ts";

/** A page of a list; its cursor is the place to go on from. */
export const page = <Item>(items: readonly Item[], query: URLSearchParams): Answer => {
  const limit = Number(query.get("limit") ?? 50);
  const from = Number(query.get("cursor") ?? 0);
  const next = from + limit < items.length ? String(from + limit) : null;
  return { status: 200, body: { items: items.slice(from, from + limit), next_cursor: next } };
};

/** Those whose name begins with the `q` of the query. */
export function namedLike<Item extends { readonly name: string }>(
  items: readonly Item[],
  query: URLSearchParams,
): Item[] {
  return items.filter(({ name }) => name.startsWith(query.get("q") ?? ""));
}
