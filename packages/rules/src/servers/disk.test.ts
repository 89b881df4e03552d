import { expect, test } from "vitest";
import { grownDiskGb } from "./disk.ts";

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
