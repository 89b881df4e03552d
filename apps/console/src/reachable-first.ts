import type { Schemas } from "@kule/contract/schemas";

/** Regions for a form, of which the first one is the default: those that can be reached come first. */
export function reachableFirst(regions: readonly Schemas["CatalogRegion"][]): Schemas["CatalogRegion"][] {
  return regions.toSorted((one, other) => Number(other.status === "ok") - Number(one.status === "ok"));
}
