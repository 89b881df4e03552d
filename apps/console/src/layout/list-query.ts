import { ApiRefused, conflictOf, type Outcome } from "../api.ts";
import type { Messages } from "../messages/messages.ts";

/** The sort orders of a list, its default first; a minus reverses one. */
export const nameSorts = ["-created_at", "created_at", "name", "-name"] as const;
/** The orders of lists whose entries are in regions. */
export const regionSorts = [...nameSorts, "region", "-region"] as const;
/** The orders of lists whose entries have no name. */
export const addressSorts = ["-created_at", "created_at", "address", "-address"] as const;
export type ListSort = (typeof regionSorts)[number] | (typeof addressSorts)[number];

/** The query of a list's address. */
export type ListQuery<Sort extends ListSort = ListSort> = {
  /** How the names begin. */
  readonly q: string;
  readonly region: string;
  /** A label selector: `role=web,env!=test`. */
  readonly labels: string;
  readonly sort: Sort;
  readonly cursor: string | undefined;
};

/** Whether names are free texts, or host names and addresses, which have no capitals. */
export type ListFilter = "name" | "hostname" | "address" | "region" | "labels";

/** Reads the address of a list that can be filtered and sorted in these ways; invalid values are ignored. */
export function readListQuery<Sort extends ListSort>(
  address: URLSearchParams,
  filters: readonly ListFilter[],
  sorts: readonly [Sort, ...Sort[]],
): ListQuery<Sort> {
  const text = (name: string, ...ways: readonly ListFilter[]) =>
    ways.some((way) => filters.includes(way)) ? (address.get(name) ?? "").trim() : "";
  const name = text("q", "name", "hostname", "address");
  return {
    // Phones capitalise the first letter, and Turkish has two capitals of i.
    q:
      filters.includes("hostname") || filters.includes("address")
        ? name.replaceAll("İ", "i").toLowerCase()
        : name,
    region: text("region", "region"),
    labels: text("labels", "labels"),
    sort: sorts.find((sort) => sort === address.get("sort")) ?? sorts[0],
    cursor: address.get("cursor") || undefined,
  };
}

/** The address of a list. Defaults are left out, so that addresses stay short. */
export function listParameters(query: ListQuery): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const name of ["q", "region", "labels", "cursor"] as const) {
    const value = query[name];
    if (value !== undefined && value !== "") parameters.set(name, value);
  }
  if (query.sort !== "-created_at") parameters.set("sort", query.sort);
  return parameters;
}

export function isNarrowed({ q, region, labels }: ListQuery): boolean {
  return q !== "" || region !== "" || labels !== "";
}

/** The query as the API takes it. */
export function listRequestParameters<Sort extends ListSort>(query: ListQuery<Sort>, limit: number) {
  const { q, region, labels, sort, cursor } = query;
  return {
    limit,
    ...(q === "" ? {} : { q }),
    ...(region === "" ? {} : { region }),
    ...(labels === "" ? {} : { label_selector: labels }),
    ...(sort === "-created_at" ? {} : { sort }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

type List<Item> = { items: Item[]; next_cursor: string | null };

/**
 * The list for the page; empty when the API does not accept the label selector.
 *
 * @throws ApiAway, ApiRefused
 */
export function narrowedList<Item>(
  listed: Outcome<List<Item>>,
  messages: Messages,
): { readonly list: List<Item>; readonly selectorProblem: string | null } {
  if (listed.kind === "done") return { list: listed.data, selectorProblem: null };
  const problem = conflictOf(listed);
  const wrong = problem.errors?.find(({ field }) => field === "label_selector");
  if (problem.status !== 422 || wrong === undefined) throw new ApiRefused(problem);
  const { filterHint } = messages.labels;
  return {
    list: { items: [], next_cursor: null },
    selectorProblem: messages.locale === "en" ? `${wrong.message}. ${filterHint}` : filterHint,
  };
}
