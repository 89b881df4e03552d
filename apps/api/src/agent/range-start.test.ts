import { expect, test } from "vitest";
import { rangeStart } from "./range-start.ts";

test.each([
  ["bytes=0-", 0],
  ["bytes=100-", 100],
  ["Bytes=100-", 100],
  [" bytes=100- ", 100],
  ["bytes=999999999999999-", 999_999_999_999_999],
])("%j is from that byte on", (range, start) => {
  expect(rangeStart(range)).toBe(start);
});

test.each([
  undefined,
  "",
  "bytes",
  "bytes=-100",
  "bytes=100-200",
  "bytes=100-,200-",
  "bytes=1e3-",
  "bytes=-1-",
  "bytes=9999999999999999-",
  "lines=1-",
])("%j is the whole file", (range) => {
  expect(rangeStart(range)).toBe(0);
});
