import type { Schemas } from "@kule/contract/schemas";
import { parseLabelSelector, selectorMatches } from "@kule/rules/labels/selector";
import type { Answer } from "./fake-operation.ts";

/** A page of a list; its cursor is the offset of the next one. */
export const page = <Item>(items: readonly Item[], query: URLSearchParams): Answer => {
  const limit = Number(query.get("limit") ?? 50);
  const from = Number(query.get("cursor") ?? 0);
  const next = from + limit < items.length ? String(from + limit) : null;
  return { status: 200, body: { items: items.slice(from, from + limit), next_cursor: next } };
};

export type Fail = (
  status: number,
  code: Schemas["ErrorCode"],
  detail: string,
  more?: Partial<Schemas["Problem"]>,
) => Answer;

type Narrowable = {
  readonly name?: string;
  readonly region?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly created_at?: string;
  readonly address?: string;
};

/** In the order of the query; unchanged without one. */
function inOrder(items: readonly Narrowable[], sort: string | null): readonly Narrowable[] {
  if (sort === null) return items;
  const key = sort.replace("-", "") as "name" | "created_at" | "region" | "address";
  const sorted = items.toSorted((a, b) => ((a[key] ?? "") < (b[key] ?? "") ? -1 : 1));
  return sort.startsWith("-") ? sorted.reverse() : sorted;
}

/** As `page`, filtered by a part of their name, address or labels, by region and by labels, in the query's order. */
export function narrowedPage(items: readonly Narrowable[], query: URLSearchParams, fail: Fail): Answer {
  const selector = query.get("label_selector") ?? "";
  const parsed = parseLabelSelector(selector);
  if (!parsed.ok) {
    const message = `"${selector}" is neither a label key nor a term`;
    return fail(422, "validation_failed", message, {
      errors: [{ field: "label_selector", code: "invalid_format", message, pointer: "label_selector" }],
    });
  }
  const meant = items.filter(
    ({ name, address = "", region, labels = {} }) =>
      [name ?? address, ...Object.entries(labels).map(([key, value]) => `${key}=${value}`)].some((text) =>
        text.toLowerCase().includes((query.get("q") ?? "").toLowerCase()),
      ) &&
      (!query.has("region") || region === query.get("region")) &&
      (selector === "" || selectorMatches(parsed.terms, labels)),
  );
  return page(inOrder(meant, query.get("sort")), query);
}
