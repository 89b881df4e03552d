import type { Schemas } from "@kule/contract/schemas";
import { serverStatuses } from "./server-status.ts";

export const sorts = ["-created_at", "created_at", "name", "-name"] as const;

/** What the list's address says. */
export type ServerListQuery = {
  readonly q: string;
  readonly status: readonly Schemas["ServerStatus"][];
  readonly region: string;
  /** A label selector: `role=web,env!=test`. */
  readonly labels: string;
  readonly sort: (typeof sorts)[number];
  readonly cursor: string | undefined;
};

/** Reads the address; what makes no sense there is left out. */
export function readServerListQuery(query: URLSearchParams): ServerListQuery {
  return {
    q: (query.get("q") ?? "").trim().toLowerCase(),
    status: serverStatuses.filter((status) => query.getAll("status").includes(status)),
    region: query.get("region") ?? "",
    labels: (query.get("labels") ?? "").trim(),
    sort: sorts.find((sort) => sort === query.get("sort")) ?? "-created_at",
    cursor: query.get("cursor") || undefined,
  };
}

/** The address of a list. Defaults are left out, so that addresses stay short. */
export function serverListParameters(query: ServerListQuery): URLSearchParams {
  const parameters = new URLSearchParams();
  if (query.q !== "") parameters.set("q", query.q);
  for (const status of query.status) parameters.append("status", status);
  if (query.region !== "") parameters.set("region", query.region);
  if (query.labels !== "") parameters.set("labels", query.labels);
  if (query.sort !== "-created_at") parameters.set("sort", query.sort);
  if (query.cursor !== undefined) parameters.set("cursor", query.cursor);
  return parameters;
}
