import { unreachableAfterSeconds } from "../regions/status.ts";

export type Observation = "none" | "fresh" | "stale";

export type ObservationFacts = {
  /** How long ago the region last said what is true of the resource; null when it never did. */
  readonly observedAgeSeconds: number | null;
  /** How long ago the region's agent last reported at all; null when it never did. */
  readonly reportAgeSeconds: number | null;
  /** How often the region's agent looks. */
  readonly everySeconds: number;
};

/** Three looks may be missed, and no fewer seconds than an outage of the region takes to be called one. */
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
