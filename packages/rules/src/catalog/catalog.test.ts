import { expect, test } from "vitest";
import { findImage, images, packageMismatch, packagesFor } from "./images.ts";
import { findPackage, packages } from "./packages.ts";

test("the six plans are those of the specification", () => {
  expect(packages.map((plan) => [plan.slug, plan.vcpu, plan.memoryMb / 1024, plan.diskGb])).toEqual([
    ["s", 1, 2, 40],
    ["m", 2, 4, 80],
    ["l", 4, 8, 160],
    ["xl", 6, 16, 240],
    ["xxl", 8, 32, 400],
    ["xxxl", 12, 64, 640],
  ]);
});

test("Windows needs 4 GB of memory for itself, so s and m are out", () => {
  for (const image of images.filter((candidate) => candidate.osFamily === "windows"))
    expect(packagesFor(image)).toEqual(["l", "xl", "xxl", "xxxl"]);
});

test("Linux runs on every plan", () => {
  for (const image of images.filter((candidate) => candidate.osFamily === "linux"))
    expect(packagesFor(image)).toEqual(packages.map((plan) => plan.slug));
});

test("a mismatch is a sentence with both figures", () => {
  const [image, plan] = [findImage("windows-2022"), findPackage("s")];
  if (image === undefined || plan === undefined) throw new Error("the catalogue lost an entry");
  expect(packageMismatch(plan, image)).toMatch(/at least 4096 MB.*package s with 2048 MB/);
});

test("slugs are unique, and unknown ones are not found", () => {
  expect(new Set(images.map((image) => image.slug)).size).toBe(images.length);
  expect(findImage("templeos")).toBeUndefined();
  expect(findPackage("toString")).toBeUndefined();
});
