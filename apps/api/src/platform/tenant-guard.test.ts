import { expect, test } from "vitest";
import { excusedShape, guardedShapes, openShapes } from "../testing/proofs/guard-shapes.ts";
import { UnguardedQuery } from "./tenant-guard.ts";

test.each(Object.entries(guardedShapes))("%s passes", async (_what, query) => {
  await expect(query.execute()).resolves.toBeDefined();
});

test.each(Object.entries(openShapes))("%s is refused", async (_what, query) => {
  await expect(query.execute()).rejects.toThrow(UnguardedQuery);
});

test("a query that belongs to no organisation gives its reason", async () => {
  await expect(excusedShape.execute()).resolves.toEqual([]);
});
