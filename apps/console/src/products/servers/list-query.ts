import type { Schemas } from "@kule/contract/schemas";
import {
  isNarrowed,
  type ListQuery,
  listParameters,
  nameSorts,
  readListQuery,
} from "../../layout/list-query.ts";
import { serverStatuses } from "./server-status.ts";

export const serverFilters = ["hostname", "region", "labels"] as const;

/** What the list's address says. */
export type ServerListQuery = ListQuery<(typeof nameSorts)[number]> & {
  readonly status: readonly Schemas["ServerStatus"][];
};

/** Reads the address; what makes no sense there is left out. */
export function readServerListQuery(address: URLSearchParams): ServerListQuery {
  return {
    ...readListQuery(address, serverFilters, nameSorts),
    status: serverStatuses.filter((status) => address.getAll("status").includes(status)),
  };
}

/** The address of a list. Defaults are left out, so that addresses stay short. */
export function serverListParameters(query: ServerListQuery): URLSearchParams {
  const parameters = listParameters(query);
  for (const status of query.status) parameters.append("status", status);
  return parameters;
}

export function isServerListNarrowed(query: ServerListQuery): boolean {
  return isNarrowed(query) || query.status.length > 0;
}
