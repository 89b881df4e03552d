import { expect, test } from "vitest";
import { coveredMs } from "./intervals.ts";

const whole = { beginMs: 100, endMs: 200 };

test("overlapping parts count once, and only the part within", () => {
  expect(coveredMs([], whole)).toBe(0);
  expect(
    coveredMs(
      [
        { beginMs: 150, endMs: 170 },
        { beginMs: 110, endMs: 120 },
        { beginMs: 115, endMs: 130 },
        { beginMs: 116, endMs: 118 },
      ],
      whole,
    ),
  ).toBe(40);
  expect(
    coveredMs(
      [
        { beginMs: 90, endMs: 110 },
        { beginMs: 190, endMs: 300 },
      ],
      whole,
    ),
  ).toBe(20);
  expect(coveredMs([{ beginMs: 0, endMs: 1000 }], whole)).toBe(100);
  expect(coveredMs([{ beginMs: 210, endMs: 220 }], whole)).toBe(0);
});
