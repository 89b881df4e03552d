import type { Schemas } from "@kule/contract/schemas";
import type { ServerPackage } from "@kule/rules/catalog/packages";
import { totalCapacity } from "@kule/rules/inventory/capacity";
import { regionStatus } from "@kule/rules/regions/status";
import { type KnownCapacity, nodesFor } from "../inventory/index.ts";
import type { RegionRow } from "../regions/index.ts";

export type Availability = {
  /** How many more fit; null when the region has not reported its capacity recently. */
  readonly fits: number | null;
  /** Why none is available now, or why that is unknown; null when there is no reason. */
  readonly reason: Schemas["PlacementReason"] | null;
};

/** A region that never reported is unknown rather than silent. */
function hasGoneSilent({ report_age_seconds: age, health_ok: ok }: RegionRow): boolean {
  if (age === null) return false;
  const facts = { maintenance: false, reportAgeSeconds: age, reportOk: ok === true };
  return regionStatus(facts) === "unreachable";
}

/** How available a package is in a region now. */
export function availability(
  region: RegionRow,
  capacity: KnownCapacity,
  plan: ServerPackage,
  image: string | null,
): Availability {
  const fits = capacity.isFresh
    ? totalCapacity(capacity, plan, image === null ? null : nodesFor(capacity, image))
    : null;
  if (region.maintenance) return { fits, reason: "maintenance" };
  if (hasGoneSilent(region)) return { fits, reason: "silent" };
  if (fits === null) return { fits, reason: "unknown" };
  return { fits, reason: fits === 0 ? "capacity" : null };
}
