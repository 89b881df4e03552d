import type { Schemas } from "@kule/contract/schemas";

/** All invariants hold but those in `violations`; one could not be checked. */
export function fakeInvariants(
  violations: readonly Schemas["InvariantViolation"][] = [],
): Schemas["InvariantReport"] {
  const checked = (
    [
      ["I3", "a live server has one VM number, one interface and one address"],
      ["I4", "the addresses of a subnet add up"],
      ["I4", "no address is given out twice"],
      ["I11", "a row's parent is of the same organisation"],
    ] as const
  ).map(([invariant, check]) => ({
    invariant,
    check,
    violations: violations.filter((each) => each.check === check).length,
    duration_ms: 4,
  }));
  return {
    checked_at: new Date(Date.now() - 120_000).toISOString(),
    age_seconds: 120,
    interval_seconds: 600,
    stale: false,
    duration_ms: 210,
    violations_total: violations.length,
    violations: [...violations],
    checked,
    not_checked: [{ invariant: "I8", reason: "needs a journal of effects" }],
  };
}
