import { expect, test } from "vitest";
import { ApiWorld } from "../api-world.ts";
import { grantFindings } from "./grant-matrix.ts";

test("no caller grants permissions that they do not have, by any operation, role and scopes", async () => {
  const world = await ApiWorld.open();
  try {
    const { cases, violations } = await grantFindings(world, await world.addOrganisation("acme"), "sample");
    expect(violations).toEqual([]);
    expect(cases).toBeGreaterThan(500);
  } finally {
    await world.close();
  }
}, 240_000);
