import type { Schemas } from "@kule/contract/schemas";
import { images, packagesFor } from "@kule/rules/catalog/images";
import { packages } from "@kule/rules/catalog/packages";

/** A region of a catalogue: with all images unless some are named. */
type CatalogRegion = Pick<Schemas["CatalogRegion"], "slug" | "status"> & {
  readonly images?: readonly string[];
};

/** The catalogue as the API answers with it: its images and packages, in these regions. */
export function catalogRecord(regions: readonly CatalogRegion[]): Schemas["Catalog"] {
  return {
    images: images.map((image) => ({
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
      regions: regions.filter((each) => each.images?.includes(image.slug) ?? true).map(({ slug }) => slug),
    })),
    packages: packages.map(({ slug, vcpu, memoryMb, diskGb }) => ({
      ...{ slug, vcpu, memory_mb: memoryMb, disk_gb: diskGb },
      regions: regions.map((region) => ({ slug: region.slug, available: true, reason: null })),
    })),
    regions: regions.map(({ slug, status }) => ({
      ...{ slug, name: slug, country: "TR", status, status_since: null },
    })),
  };
}
