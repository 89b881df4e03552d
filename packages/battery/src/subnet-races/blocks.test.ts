import { seededGenerator } from "@kule/lab/runtime";
import { expect, test } from "vitest";
import { dotted, overlapping, randomBlocks, rangeOf } from "./blocks.ts";

test("a block is from its first address to its last", () => {
  const { first, last } = rangeOf("10.20.0.0/16");
  expect([dotted(first), dotted(last)]).toEqual(["10.20.0.0", "10.20.255.255"]);
  expect(rangeOf("0.0.0.0/0")).toEqual({ first: 0n, last: 0xffff_ffffn });
  expect(rangeOf("255.255.255.255/32")).toEqual({ first: 0xffff_ffffn, last: 0xffff_ffffn });
});

test("blocks overlap when they share an address, and neighbours do not", () => {
  const pairs = [
    ["10.0.0.0/24", "10.0.0.128/25", true],
    ["10.0.0.0/24", "10.0.1.0/24", false],
    ["10.0.1.0/24", "10.0.0.0/23", true],
  ] as const;
  for (const [one, other, expected] of pairs)
    expect(overlapping(rangeOf(one), rangeOf(other)), `${one} ${other}`).toBe(expected);
});

test("random blocks are blocks: the first address has no host bits", () => {
  const random = seededGenerator(1);
  for (const block of randomBlocks(random, 500)) {
    const { first, last } = rangeOf(block);
    expect(first % (last - first + 1n), block).toBe(0n);
  }
});
