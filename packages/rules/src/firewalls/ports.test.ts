import { expect, test } from "vitest";
import { formatPorts, includesPort, parsePorts } from "./ports.ts";

test.each([
  ["22", { first: 22, last: 22 }],
  ["8000-8100", { first: 8000, last: 8100 }],
  ["65535", { first: 65_535, last: 65_535 }],
  ["0", null],
  ["65536", null],
  ["022", null],
  ["90-80", null],
  ["80-", null],
  ["80,443", null],
  [" 80", null],
  ["", null],
])("the ports %j are %j", (text, expected) => {
  const read = parsePorts(text);
  expect(read).toEqual(expected);
  if (read !== null) expect(formatPorts(read)).toBe(text);
});

test("no ports are every port", () => {
  expect(includesPort([], 22)).toBe(true);
  expect(includesPort([{ first: 20, last: 22 }], 22)).toBe(true);
  expect(includesPort([{ first: 20, last: 22 }], 23)).toBe(false);
});
