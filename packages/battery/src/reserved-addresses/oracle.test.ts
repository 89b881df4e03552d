import { seededGenerator } from "@kule/lab/runtime";
import { expect, test } from "vitest";
import { mayBeNetwork, mayBeSubnet, placesOf, readBlock, reservedOf } from "./oracle.ts";
import { randomBlockText } from "./random-text.ts";

test("reads blocks in their canonical form and nothing else", () => {
  expect(readBlock("10.0.0.0/8")).toMatchObject({ first: 167_772_160n, length: 8 });
  for (const text of [
    "10.0.0.1/8",
    "10.0.0.0/08",
    "10.0.0.0/33",
    "010.0.0.0/8",
    "10.0.0/8",
    "256.0.0.0/8",
    "fd00::/8",
  ])
    expect(readBlock(text), text).toBeNull();
});

test("computes which addresses of a /29 servers can have", () => {
  const block = readBlock("192.168.7.8/29");
  if (block === null) throw new Error("not read");
  expect([...reservedOf(block)]).toEqual(["192.168.7.8", "192.168.7.9", "192.168.7.15"]);
  expect(placesOf(block)).toEqual([
    "192.168.7.10",
    "192.168.7.11",
    "192.168.7.12",
    "192.168.7.13",
    "192.168.7.14",
  ]);
});

test("computes the sizes of networks and subnets", () => {
  expect(["10.0.0.0/8", "10.0.0.0/29", "11.0.0.0/8", "172.16.0.0/11"].map(mayBeNetwork)).toEqual([
    true,
    false,
    false,
    false,
  ]);
  expect(
    ["10.1.0.0/29", "10.1.0.0/30", "10.2.0.0/24"].map((text) => mayBeSubnet(text, "10.1.0.0/16")),
  ).toEqual([true, false, false]);
});

test("the texts that are tried are of every kind", () => {
  const random = seededGenerator(3);
  const texts = Array.from({ length: 2_000 }, () => randomBlockText(random));
  const lengths = new Set(texts.flatMap((text) => readBlock(text)?.length ?? []));
  for (const length of [8, 12, 16, 20, 24, 27, 28, 29, 30, 31, 32]) expect([...lengths]).toContain(length);
  expect(texts.filter((text) => text.includes(":")).length).toBeGreaterThan(50);
  expect(texts.filter((text) => readBlock(text) === null).length).toBeGreaterThan(200);
  expect(texts.filter(mayBeNetwork).length).toBeGreaterThan(200);
});
