export type PackageSlug = "s" | "m" | "l" | "xl" | "xxl" | "xxxl";

export type ServerPackage = {
  readonly slug: PackageSlug;
  readonly vcpu: number;
  readonly memoryMb: number;
  readonly diskGb: number;
};

/** The packages of servers, from small to large. */
export const packages: readonly ServerPackage[] = [
  { slug: "s", vcpu: 1, memoryMb: 2048, diskGb: 40 },
  { slug: "m", vcpu: 2, memoryMb: 4096, diskGb: 80 },
  { slug: "l", vcpu: 4, memoryMb: 8192, diskGb: 160 },
  { slug: "xl", vcpu: 6, memoryMb: 16384, diskGb: 240 },
  { slug: "xxl", vcpu: 8, memoryMb: 32768, diskGb: 400 },
  { slug: "xxxl", vcpu: 12, memoryMb: 65536, diskGb: 640 },
];

/** The plan of that slug, or undefined. */
export function findPackage(slug: string): ServerPackage | undefined {
  return packages.find((candidate) => candidate.slug === slug);
}
