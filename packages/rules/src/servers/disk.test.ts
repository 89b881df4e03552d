import { expect, test } from "vitest";
import { grownDiskGb, isDiskDrift } from "./disk.ts";

const gib = 2 ** 30;

test("a larger disk is recorded in whole GB, a smaller one and one that nobody saw are not", () => {
  expect(grownDiskGb(40, 80 * gib)).toBe(80);
  // As much as a record of 80 would ask for: it must never be drift for being smaller than what it was recorded as.
  expect(grownDiskGb(40, 81 * gib - 1)).toBe(80);
  expect(grownDiskGb(40, 41 * gib - 1)).toBeNull();
  expect(grownDiskGb(40, 40 * gib)).toBeNull();
  expect(grownDiskGb(80, 40 * gib)).toBeNull();
  expect(grownDiskGb(40, null)).toBeNull();
});

test("a disk that nobody can have ordered is drift, and not the record", () => {
  expect(grownDiskGb(40, 640 * gib)).toBe(640);
  for (const bytes of [641 * gib, 9007199254740991, Number.MAX_SAFE_INTEGER * 2]) {
    expect(grownDiskGb(40, bytes)).toBeNull();
    expect(isDiskDrift(40, bytes)).toBe(true);
  }
  expect(isDiskDrift(40, 640 * gib)).toBe(false);
  expect(isDiskDrift(40, 40 * gib - 1)).toBe(true);
  // One that was counted larger before, and an operator's correction.
  expect(isDiskDrift(1000, 1000 * gib)).toBe(false);
});
