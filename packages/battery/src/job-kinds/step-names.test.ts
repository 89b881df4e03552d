import { knownStep } from "@kule/rules/jobs/region-texts";
import { expect, test } from "vitest";
import { STEP_NAMES } from "./step-names.ts";

test("Every step that a program has is one that tenants are shown by its name", () => {
  const names = Object.values(STEP_NAMES).flat();
  expect(names.length).toBeGreaterThan(20);
  expect(names.filter((name) => knownStep(name) === "other")).toEqual([]);
});
