import { describe, expect, test } from "vitest";
import { decideResize, nextToResize, type ResizedMachine } from "./resize.ts";

const pair = (one: Partial<ResizedMachine> = {}, two: Partial<ResizedMachine> = {}): ResizedMachine[] => [
  { slot: 1, hasPackage: false, isIdle: true, isServing: true, role: "active", ...one },
  { slot: 2, hasPackage: false, isIdle: true, isServing: true, role: "standby", ...two },
];

describe("a resize of two machines", () => {
  test.each<[string, Partial<ResizedMachine>, Partial<ResizedMachine>, 1 | 2 | null]>([
    ["begins with the one that nobody uses", {}, {}, 2],
    ["begins with the first when that is the standby", { role: "standby" }, { role: "active" }, 1],
    ["begins with the second when no role is known", { role: null }, { role: null }, 2],
    ["leaves the active one for last when the other's role is unknown", {}, { role: null }, 2],
    ["goes on with the other one when that serves again", {}, { hasPackage: true }, 1],
    ["waits until the other one serves again", {}, { hasPackage: true, isServing: false }, null],
    ["waits while the other one is being resized", {}, { isIdle: false }, null],
    ["does not take the one that serves alone", {}, { isServing: false }, 2],
    ["begins with none while none serves", { isServing: false }, { isServing: false }, null],
    ["is done when both have the package", { hasPackage: true }, { hasPackage: true }, null],
  ])("%s", (_, one, two, expected) => {
    expect(nextToResize(pair(one, two))).toBe(expected);
  });

  test("of one machine waits for nothing but its own jobs", () => {
    const [only] = pair({ isServing: false, role: null });
    if (only === undefined) throw new Error("no machine");
    expect(nextToResize([only])).toBe(1);
    expect(nextToResize([{ ...only, isIdle: false }])).toBeNull();
  });

  test("to the package that it has is refused, unless a machine does not have it yet", () => {
    const facts = { id: "lb_1", package: "m", to: "m", isResized: true };
    expect(decideResize(facts)).toMatchObject({
      code: "invalid_state",
      name: "package_differs",
      resource: "lb_1",
    });
    expect(decideResize({ ...facts, isResized: false })).toBeNull();
    expect(decideResize({ ...facts, to: "l" })).toBeNull();
  });
});
