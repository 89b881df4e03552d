import type { Schemas } from "@kule/contract/schemas";
import {
  isNarrowed,
  type ListQuery,
  listParameters,
  readListQuery,
  regionSorts,
} from "../../layout/list-query.ts";
import { serverStatuses } from "./status.ts";

export const serverFilters = ["hostname", "region", "labels"] as const;

/** The filters in the list's address. */
export type ServerListQuery = ListQuery<(typeof regionSorts)[number]> & {
  readonly status: readonly Schemas["ServerStatus"][];
  /** Those that load balancers and clusters run on, instead of the others. */
  readonly managed: boolean;
};

/** Reads the address; invalid values are ignored. */
export function readServerListQuery(address: URLSearchParams): ServerListQuery {
  return {
    ...readListQuery(address, serverFilters, regionSorts),
    status: serverStatuses.filter((status) => address.getAll("status").includes(status)),
    managed: address.get("managed") === "true",
  };
}

/** The address of a list. Defaults are left out, so that addresses stay short. */
export function serverListParameters(query: ServerListQuery): URLSearchParams {
  const parameters = listParameters(query);
  for (const status of query.status) parameters.append("status", status);
  if (query.managed) parameters.set("managed", "true");
  return parameters;
}

export function isServerListNarrowed(query: ServerListQuery): boolean {
  return isNarrowed(query) || query.status.length > 0 || query.managed;
}
