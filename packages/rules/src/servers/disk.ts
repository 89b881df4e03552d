import { packages } from "../catalog/packages.ts";

const gib = 2 ** 30;

/** No package has a larger disk, so that nobody can have ordered one. */
const largestDiskGb = Math.max(...packages.map(({ diskGb }) => diskGb));

/**
 * What a server's disk is from now on when the region shows one of so many bytes, in whole GB; null leaves it as it is
 * recorded. Disks only grow: a smaller one is drift, and not the truth. So is one that is larger than any that could have
 * been ordered: a region must not be able to make somebody pay for a disk of any size by saying so.
 */
export function grownDiskGb(recordedGb: number, seenBytes: number | null): number | null {
  if (seenBytes === null) return null;
  const seenGb = Math.floor(seenBytes / gib);
  return seenGb > recordedGb && seenGb <= largestDiskGb ? seenGb : null;
}

/** Whether the disk is not as recorded, and the record does not follow it. */
export function isDiskDrift(recordedGb: number, seenBytes: number): boolean {
  const seenGb = Math.floor(seenBytes / gib);
  return seenGb < recordedGb || seenGb > Math.max(recordedGb, largestDiskGb);
}
