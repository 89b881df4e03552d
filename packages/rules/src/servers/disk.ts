import { packages } from "../catalog/packages.ts";

const gib = 2 ** 30;

/** No package has a larger disk. */
const largestDiskGb = Math.max(...packages.map(({ diskGb }) => diskGb));

/**
 * A server's disk from now on when the region reports one of so many bytes, in whole GB; null leaves it as it
 * is recorded. Disks only grow: a smaller one is drift, and not the truth. So is one that is larger than was
 * ordered for this server: a region must not be able to make a customer pay for a disk by reporting it.
 *
 * @param orderedGb the largest disk that was ever requested, also by a failed resize: it may have grown all
 * the same
 */
export function grownDiskGb(recordedGb: number, orderedGb: number, seenBytes: number | null): number | null {
  if (seenBytes === null) return null;
  const seenGb = Math.floor(seenBytes / gib);
  return seenGb > recordedGb && seenGb <= orderedGb ? seenGb : null;
}

/** Whether the disk is not as recorded, and the record does not follow it. */
export function isDiskDrift(recordedGb: number, orderedGb: number, seenBytes: number): boolean {
  const seenGb = Math.floor(seenBytes / gib);
  return seenGb < recordedGb || seenGb > Math.max(recordedGb, orderedGb);
}

/**
 * The disk that a VM is adopted with: the package's, or its own when that is larger and some package has one
 * as large. The adoption orders it.
 */
export function takenOverDiskGb(packageGb: number, seenBytes: number | null): number {
  const seenGb = Math.floor((seenBytes ?? 0) / gib);
  return seenGb <= largestDiskGb ? Math.max(packageGb, seenGb) : packageGb;
}
