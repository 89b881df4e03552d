import type { Schemas } from "@kule/contract/schemas";

export const segmentKinds = [
  "compute",
  "disk",
  "public_ip",
] as const satisfies readonly Schemas["UsageSegmentKind"][];

export const eventKinds = [
  "server.started",
  "server.stopped",
  "server.resized",
  "server.purge_scheduled",
  "server.purged",
  "disk.allocated",
  "disk.released",
  "public_ip.allocated",
  "public_ip.released",
  "load_balancer.traffic",
  "usage.corrected",
] as const satisfies readonly Schemas["UsageKind"][];

/** The filters of segments or events; an empty value does not filter. */
export type UsageQuery<Kind extends string = string> = {
  readonly kind: Kind | "";
  readonly resource: string;
  readonly region: string;
  readonly label_selector: string;
};

/** Reads the address; an invalid kind is ignored. */
export function readUsageQuery<Kind extends string>(
  address: URLSearchParams,
  kinds: readonly Kind[],
): UsageQuery<Kind> {
  const text = (name: string) => (address.get(name) ?? "").trim();
  return {
    kind: kinds.find((kind) => kind === address.get("kind")) ?? "",
    resource: text("resource"),
    region: text("region"),
    label_selector: text("label_selector"),
  };
}

/** The query as addresses take it, without what is empty. */
export function usageParameters(query: UsageQuery): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== "") parameters.set(name, value);
  return parameters;
}

/** The query as the API takes it. */
export function usageRequestParameters<Kind extends string>(query: UsageQuery<Kind>) {
  const { kind, resource, region, label_selector } = query;
  return {
    ...(kind === "" ? {} : { kind: [kind] }),
    ...(resource === "" ? {} : { resource }),
    ...(region === "" ? {} : { region }),
    ...(label_selector === "" ? {} : { label_selector }),
  };
}

/** The filters of a file of the month: all but the kind, for which files have no filter. */
export function exportParameters(
  month: { readonly from: string; readonly to: string },
  of: "segments" | "events",
  query: UsageQuery,
): URLSearchParams {
  return new URLSearchParams({
    of,
    from: month.from,
    to: month.to,
    ...Object.fromEntries(usageParameters({ ...query, kind: "" })),
  });
}
