import { unreachableAfterSeconds } from "../regions/status.ts";

export type Observation = "none" | "fresh" | "stale";

export type ObservationFacts = {
  /** How long ago the region last reported the resource; null when it never did. */
  readonly observedAgeSeconds: number | null;
  /** How long ago the region's agent last reported at all; null when it never did. */
  readonly reportAgeSeconds: number | null;
  /** The interval of the region agent's scans. */
  readonly everySeconds: number;
};

/** Three scans may be missed, and at least the seconds after which a region counts as silent. */
export function staleAfterSeconds(everySeconds: number): number {
  return Math.max(90, 3 * everySeconds);
}

/** How far what was seen of a resource can still be trusted. */
export function observationOf(facts: ObservationFacts): Observation {
  const { observedAgeSeconds, reportAgeSeconds, everySeconds } = facts;
  if (observedAgeSeconds === null) return "none";
  if (reportAgeSeconds === null || reportAgeSeconds > unreachableAfterSeconds) return "stale";
  return observedAgeSeconds > staleAfterSeconds(everySeconds) ? "stale" : "fresh";
}
