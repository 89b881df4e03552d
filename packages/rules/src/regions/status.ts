export type RegionStatus = "ok" | "degraded" | "unreachable" | "maintenance";

export type RegionHealthFacts = {
  /** An operator's choice. */
  readonly maintenance: boolean;
  /** How long ago the agent last reported; null before its first report. */
  readonly reportAgeSeconds: number | null;
  /** Whether the last report was free of trouble. */
  readonly reportOk: boolean;
};

/** Agents report every 20 seconds: three missed reports make a region unreachable. */
export const unreachableAfterSeconds = 60;

/** The status of a region for its customers. */
export function regionStatus(facts: RegionHealthFacts): RegionStatus {
  if (facts.maintenance) return "maintenance";
  if (facts.reportAgeSeconds === null || facts.reportAgeSeconds > unreachableAfterSeconds)
    return "unreachable";
  return facts.reportOk ? "ok" : "degraded";
}
