const gib = 2 ** 30;

/**
 * What a server's disk is from now on when the region shows one of so many bytes, in whole GB; null leaves it as it is
 * recorded. Disks only grow: a smaller one is drift, and not the truth.
 */
export function grownDiskGb(recordedGb: number, seenBytes: number | null): number | null {
  if (seenBytes === null) return null;
  const seenGb = Math.floor(seenBytes / gib);
  return seenGb > recordedGb ? seenGb : null;
}
