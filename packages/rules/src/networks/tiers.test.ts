import { expect, test } from "vitest";
import { egressOf, mayHaveEgress, refusePublicAddress, tiers } from "./tiers.ts";

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

test("no server of a data subnet may have a public address, and the refusal names a fix", () => {
  for (const tier of tiers) {
    const refusal = refusePublicAddress({ id: "sub_1", tier });
    if (tier !== "data") expect(refusal).toBeNull();
    else
      expect(refusal).toMatchObject({
        code: "tier_forbids_egress",
        resource: "sub_1",
        fix: expect.any(String),
      });
  }
});
