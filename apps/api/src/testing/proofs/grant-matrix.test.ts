import { expect, test } from "vitest";
import { ApiWorld } from "../api-world.ts";
import { grantFindings } from "./grant-matrix.ts";

test("nobody hands on what they may not do themselves, by whichever operation, role and scopes", async () => {
  const world = await ApiWorld.open();
  try {
    const { cases, violations } = await grantFindings(world, await world.addOrganisation("acme"), "sample");
    expect(violations).toEqual([]);
    expect(cases).toBeGreaterThan(500);
  } finally {
    await world.close();
  }
}, 240_000);
