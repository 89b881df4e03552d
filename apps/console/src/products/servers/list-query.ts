import type { Schemas } from "@kule/contract/schemas";
import { isNarrowed, type ListQuery, listParameters, readListQuery } from "../../layout/list-query.ts";
import { serverStatuses } from "./server-status.ts";

export const sorts = ["-created_at", "created_at", "name", "-name"] as const;

export const serverFilters = ["hostname", "region", "labels"] as const;

/** What the list's address says. */
export type ServerListQuery = ListQuery & {
  readonly status: readonly Schemas["ServerStatus"][];
  readonly sort: (typeof sorts)[number];
};

/** Reads the address; what makes no sense there is left out. */
export function readServerListQuery(address: URLSearchParams): ServerListQuery {
  return {
    ...readListQuery(address, serverFilters),
    status: serverStatuses.filter((status) => address.getAll("status").includes(status)),
    sort: sorts.find((sort) => sort === address.get("sort")) ?? "-created_at",
  };
}

/** The address of a list. Defaults are left out, so that addresses stay short. */
export function serverListParameters(query: ServerListQuery): URLSearchParams {
  const parameters = listParameters(query);
  for (const status of query.status) parameters.append("status", status);
  if (query.sort !== "-created_at") parameters.set("sort", query.sort);
  return parameters;
}

export function isServerListNarrowed(query: ServerListQuery): boolean {
  return isNarrowed(query) || query.status.length > 0;
}
