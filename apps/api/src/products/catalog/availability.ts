import type { Schemas } from "@kule/contract/schemas";
import type { ServerPackage } from "@kule/rules/catalog/packages";
import { roomInAll } from "@kule/rules/inventory/capacity";
import { regionStatus } from "@kule/rules/regions/status";
import { type KnownCapacity, nodesFor } from "../inventory/index.ts";
import type { RegionRow } from "../regions/index.ts";

export type Availability = {
  /** How many more fit; null when the region has not said lately what it has. */
  readonly fits: number | null;
  /** Why none can be had now, or why nobody knows; null when there is nothing to say. */
  readonly reason: Schemas["PlacementReason"] | null;
};

/** One that never reported is not known rather than silent. */
function hasGoneSilent({ report_age_seconds: age, health_ok: ok }: RegionRow): boolean {
  if (age === null) return false;
  const facts = { maintenance: false, reportAgeSeconds: age, reportOk: ok === true };
  return regionStatus(facts) === "unreachable";
}

/** What of a package can be had in a region now. */
export function availability(
  region: RegionRow,
  capacity: KnownCapacity,
  plan: ServerPackage,
  image: string | null,
): Availability {
  const fits = capacity.isFresh
    ? roomInAll(capacity, plan, image === null ? null : nodesFor(capacity, image))
    : null;
  if (region.maintenance) return { fits, reason: "maintenance" };
  if (hasGoneSilent(region)) return { fits, reason: "silent" };
  if (fits === null) return { fits, reason: "unknown" };
  return { fits, reason: fits === 0 ? "capacity" : null };
}
