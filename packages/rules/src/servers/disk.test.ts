import { expect, test } from "vitest";
import { grownDiskGb, isDiskDrift, takenOverDiskGb } from "./disk.ts";

const gib = 2 ** 30;

test("a larger disk is recorded in whole GB, a smaller or unobserved one is not", () => {
  expect(grownDiskGb(40, 160, 80 * gib)).toBe(80);
  // The size that a record of 80 would request: it must never be drift for being smaller than its record.
  expect(grownDiskGb(40, 160, 81 * gib - 1)).toBe(80);
  expect(grownDiskGb(40, 160, 41 * gib - 1)).toBeNull();
  expect(grownDiskGb(40, 160, 40 * gib)).toBeNull();
  expect(grownDiskGb(80, 160, 40 * gib)).toBeNull();
  expect(grownDiskGb(40, 160, null)).toBeNull();
});

test("a disk larger than was ordered is drift, and not the record", () => {
  expect(grownDiskGb(40, 80, 80 * gib)).toBe(80);
  for (const bytes of [81 * gib, 641 * gib, 9007199254740991, Number.MAX_SAFE_INTEGER * 2]) {
    expect(grownDiskGb(40, 80, bytes)).toBeNull();
    expect(isDiskDrift(40, 80, bytes)).toBe(true);
  }
  expect(grownDiskGb(40, 40, 41 * gib)).toBeNull();
  expect(isDiskDrift(40, 40, 41 * gib)).toBe(true);
  expect(isDiskDrift(40, 80, 80 * gib)).toBe(false);
  expect(isDiskDrift(40, 80, 40 * gib - 1)).toBe(true);
  // One that was counted larger before.
  expect(isDiskDrift(1000, 40, 1000 * gib)).toBe(false);
});

test("a VM is adopted with its own disk, unless no package has one as large", () => {
  expect(takenOverDiskGb(40, 100 * gib)).toBe(100);
  expect(takenOverDiskGb(40, 20 * gib)).toBe(40);
  expect(takenOverDiskGb(40, null)).toBe(40);
  expect(takenOverDiskGb(40, 641 * gib)).toBe(40);
});
