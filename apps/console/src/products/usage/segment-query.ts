import type { Schemas } from "@kule/contract/schemas";

export const segmentKinds = [
  "compute",
  "disk",
  "public_ip",
] as const satisfies readonly Schemas["UsageSegmentKind"][];

/** What the segments are narrowed by; empty is not narrowed. */
export type SegmentQuery = {
  readonly kind: Schemas["UsageSegmentKind"] | "";
  readonly resource: string;
  readonly label_selector: string;
};

/** Reads the address; a kind that makes no sense there is left out. */
export function readSegmentQuery(query: URLSearchParams): SegmentQuery {
  return {
    kind: segmentKinds.find((kind) => kind === query.get("kind")) ?? "",
    resource: (query.get("resource") ?? "").trim(),
    label_selector: (query.get("label_selector") ?? "").trim(),
  };
}

/** The query as the API and addresses take it, without what is empty. */
export function segmentParameters(query: SegmentQuery): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== "") parameters.set(name, value);
  return parameters;
}
