import type { Schemas } from "@kule/contract/schemas";
import { type Image, images, packagesFor } from "@kule/rules/catalog/images";
import { packages, type ServerPackage } from "@kule/rules/catalog/packages";
import type { KnownCapacity } from "../inventory/index.ts";
import { imagesOf, type RegionRow, statusOf, statusSince } from "../regions/index.ts";
import { availability } from "./availability.ts";

export function viewPackage(plan: ServerPackage): Schemas["Package"] {
  return { slug: plan.slug, vcpu: plan.vcpu, memory_mb: plan.memoryMb, disk_gb: plan.diskGb };
}

/** @param capacities of the regions, in their order */
export function viewCatalog(
  regions: readonly RegionRow[],
  capacities: readonly KnownCapacity[],
): Schemas["Catalog"] {
  return {
    images: images.map((image) => viewImage(image, regions)),
    packages: packages.map((plan) => ({
      ...viewPackage(plan),
      regions: regions.flatMap((region, index) => {
        const capacity = capacities[index];
        if (capacity === undefined) return [];
        const { fits, reason } = availability(region, capacity, plan, null);
        return [{ slug: region.slug, available: reason !== "maintenance" && fits !== 0, reason }];
      }),
    })),
    regions: regions.map((region) => ({
      slug: region.slug,
      name: region.name,
      country: region.country,
      status: statusOf(region),
      status_since: statusSince(region),
    })),
  };
}

function viewImage(image: Image, regions: readonly RegionRow[]): Schemas["Image"] {
  return {
    slug: image.slug,
    name: image.name,
    os_family: image.osFamily,
    distribution: image.distribution,
    version: image.version,
    min_memory_mb: image.minMemoryMb,
    min_disk_gb: image.minDiskGb,
    default_user: image.defaultUser,
    console: image.console,
    packages_allowed: packagesFor(image),
    regions: regions.filter((region) => imagesOf(region).includes(image.slug)).map((region) => region.slug),
  };
}
