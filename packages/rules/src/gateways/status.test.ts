import { describe, expect, test } from "vitest";
import { gatewayAction, gatewayStatus, portForwardStatus, subnetLinkStatus } from "./status.ts";

describe("a gateway's status", () => {
  const applied = { isDeleting: false, generation: 2, observedGeneration: 2, hasFailed: false };
  test.each([
    [{ observedGeneration: 0 }, "provisioning"],
    [{}, "active"],
    [{ generation: 3 }, "updating"],
    [{ generation: 3, hasFailed: true }, "error"],
    [{ observedGeneration: 0, hasFailed: true }, "error"],
    // A subnet that is being deleted is shown as that, whatever has failed.
    [{ isDeleting: true, hasFailed: true }, "deleting"],
  ] as const)("%j is %s", (more, expected) => {
    expect(gatewayStatus({ ...applied, ...more })).toBe(expected);
  });

  test.each([
    [false, false, "attaching", "provisioning"],
    [true, false, "ready", "active"],
    [true, true, "detaching", "deleting"],
    [false, true, "detaching", "deleting"],
  ] as const)("of what it serves and forwards: %#", (isApplied, isLeaving, link, forward) => {
    expect(subnetLinkStatus({ isApplied, isLeaving })).toBe(link);
    expect(portForwardStatus({ isApplied, isLeaving })).toBe(forward);
  });

  test("an action is what its decision has found first", () => {
    expect(gatewayAction([])).toEqual({ allowed: true, code: null, reason: null });
    const refusal = {
      name: "network_without_gateway",
      code: "in_use",
      message: "It is used",
      resource: "gw_1",
      fix: null,
    } as const;
    expect(gatewayAction([refusal])).toEqual({ allowed: false, code: "in_use", reason: "It is used" });
  });
});
