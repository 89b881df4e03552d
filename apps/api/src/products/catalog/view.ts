import type { Schemas } from "@kule/contract/schemas";
import { type Image, images, packagesFor } from "@kule/rules/catalog/images";
import { packages, type ServerPackage } from "@kule/rules/catalog/packages";
import { imagesOf, type RegionRow, statusOf, statusSince } from "../regions/index.ts";

export function viewPackage(plan: ServerPackage): Schemas["Package"] {
  return { slug: plan.slug, vcpu: plan.vcpu, memory_mb: plan.memoryMb, disk_gb: plan.diskGb };
}

export function viewCatalog(regions: readonly RegionRow[]): Schemas["Catalog"] {
  return {
    images: images.map((image) => viewImage(image, regions)),
    packages: packages.map(viewPackage),
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
