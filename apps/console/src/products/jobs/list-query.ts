import type { Schemas } from "@kule/contract/schemas";

/** The filters in the address of the list of jobs; an empty text does not filter. */
export type JobQuery = {
  readonly status: Schemas["JobStatus"] | "";
  readonly kind: Schemas["JobKind"] | "";
  readonly region: string;
  readonly cursor: string | undefined;
};

export const jobStatuses = ["queued", "running", "succeeded", "failed", "cancelled"] as const;

/** Reads the address of the list; invalid values are ignored. */
export function readJobQuery(address: URLSearchParams, kinds: Readonly<Record<string, string>>): JobQuery {
  const kind = address.get("kind") ?? "";
  return {
    status: jobStatuses.find((known) => known === address.get("status")) ?? "",
    kind: Object.hasOwn(kinds, kind) ? (kind as Schemas["JobKind"]) : "",
    region: (address.get("region") ?? "").trim(),
    cursor: address.get("cursor") || undefined,
  };
}

export function isJobListNarrowed({ status, kind, region }: JobQuery): boolean {
  return status !== "" || kind !== "" || region !== "";
}

/** The address of the list, without defaults. */
export function jobParameters(query: JobQuery): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const name of ["status", "kind", "region", "cursor"] as const)
    if (query[name] !== undefined && query[name] !== "") parameters.set(name, query[name]);
  return parameters;
}

/** The query as the API takes it. */
export function jobListParameters({ status, kind, region, cursor }: JobQuery, limit: number) {
  return {
    limit,
    ...(status === "" ? {} : { status: [status] }),
    ...(kind === "" ? {} : { kind: [kind] }),
    ...(region === "" ? {} : { region }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}
