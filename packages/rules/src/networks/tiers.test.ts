import { expect, test } from "vitest";
import { egressOf, mayHaveEgress, tiers } from "./tiers.ts";

test.each([
  ["app", false, "none"],
  ["app", true, "gateway"],
  ["mgmt", false, "none"],
  ["mgmt", true, "gateway"],
  ["data", false, "forbidden"],
  ["data", true, "forbidden"],
] as const)("a subnet of tier %s with a gateway: %s reaches %s", (tier, hasGateway, expected) => {
  expect(egressOf(tier, hasGateway)).toBe(expected);
});

test("only data subnets can never reach the internet", () => {
  expect(tiers.filter((tier) => !mayHaveEgress(tier))).toEqual(["data"]);
});
