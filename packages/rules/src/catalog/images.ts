import { type PackageSlug, packages, type ServerPackage } from "./packages.ts";

export type OsFamily = "linux" | "windows";

export type Image = {
  readonly slug: string;
  readonly name: string;
  readonly osFamily: OsFamily;
  readonly distribution: string;
  readonly version: string;
  readonly minMemoryMb: number;
  readonly minDiskGb: number;
  /** Plans that the product excludes although their figures alone would do. */
  readonly excludedPackages: readonly PackageSlug[];
  /** The user of the SSH keys and the console password. */
  readonly defaultUser: string;
  readonly console: "serial" | "vnc";
  /** How a running guest can be given another address; none for those that read it when they boot. */
  readonly guestNetwork: "netplan" | "network_manager" | "none";
  /** Of what only a product of Kule makes servers: no list of images has it, and no request can name it. */
  readonly isAppliance?: true;
};

const linux = (slug: string, name: string, distribution: string, version: string, user: string): Image => ({
  slug,
  name,
  osFamily: "linux",
  distribution,
  version,
  minMemoryMb: 1024,
  minDiskGb: 10,
  excludedPackages: [],
  defaultUser: user,
  console: "serial",
  // The network managers of the distributions' cloud images.
  guestNetwork: distribution === "rocky" ? "network_manager" : "netplan",
});

const windows = (slug: string, name: string, version: string): Image => ({
  slug,
  name,
  osFamily: "windows",
  distribution: "windows-server",
  version,
  minMemoryMb: 4096,
  minDiskGb: 40,
  // The specification excludes both by name: with 4 GB in all, m leaves the guest less than the 4 GB it needs.
  excludedPackages: ["s", "m"],
  defaultUser: "Administrator",
  console: "vnc",
  guestNetwork: "none",
});

/** The operating systems of servers. A region has those that its region file maps to a template. */
export const images: readonly Image[] = [
  linux("ubuntu-24.04", "Ubuntu 24.04 LTS", "ubuntu", "24.04", "ubuntu"),
  linux("ubuntu-22.04", "Ubuntu 22.04 LTS", "ubuntu", "22.04", "ubuntu"),
  linux("debian-13", "Debian 13", "debian", "13", "debian"),
  linux("debian-12", "Debian 12", "debian", "12", "debian"),
  linux("rocky-9", "Rocky Linux 9", "rocky", "9", "rocky"),
  windows("windows-2025", "Windows Server 2025", "2025"),
  windows("windows-2022", "Windows Server 2022", "2022"),
];

/** What load balancers run on; the template is made of infra/images/kule-lb. */
export const loadBalancerImage = "kule-lb";

const appliances: readonly Image[] = [
  { ...linux(loadBalancerImage, "Load balancer", "debian", "13", "debian"), isAppliance: true },
];

/** The image of that slug, or undefined. Appliances are found too. */
export function findImage(slug: string): Image | undefined {
  return [...images, ...appliances].find((candidate) => candidate.slug === slug);
}

/**
 * Servers outlive catalogue entries: the slug of an image that is no longer offered still shows its family.
 */
export function osFamilyOf(slug: string): OsFamily {
  return findImage(slug)?.osFamily ?? (slug.startsWith("windows") ? "windows" : "linux");
}

/** The login name of an image; for one that is no longer offered, the usual name of its system. */
export function defaultUserOf(slug: string): string {
  return findImage(slug)?.defaultUser ?? (osFamilyOf(slug) === "windows" ? "Administrator" : "root");
}

/** Why the image does not run on the plan, as a sentence, or null when it does. */
export function packageMismatch(
  plan: Pick<ServerPackage, "slug" | "memoryMb" | "diskGb">,
  image: Image,
): string | null {
  if (plan.memoryMb < image.minMemoryMb || image.excludedPackages.includes(plan.slug))
    return `${image.name} needs at least ${image.minMemoryMb} MB of memory for itself; package ${plan.slug} with ${plan.memoryMb} MB is too small`;
  if (plan.diskGb < image.minDiskGb)
    return `${image.name} needs a disk of at least ${image.minDiskGb} GB; package ${plan.slug} has ${plan.diskGb} GB`;
  return null;
}

/** True if the image runs on the plan. */
export function packageFitsImage(plan: ServerPackage, image: Image): boolean {
  return packageMismatch(plan, image) === null;
}

/** The plans that are big enough for the image. */
export function packagesFor(image: Image): PackageSlug[] {
  return packages.filter((plan) => packageFitsImage(plan, image)).map((plan) => plan.slug);
}
