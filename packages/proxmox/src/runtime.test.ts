import { afterEach, expect, test, vi } from "vitest";
import { systemRuntime } from "./runtime.ts";

afterEach(() => vi.restoreAllMocks());

test("setting the wall clock back or ahead does not change the length of a wait", () => {
  const startedAt = systemRuntime.now();
  expect(Math.abs(startedAt - Date.now())).toBeLessThan(60_000);
  for (const jumpMs of [-3_600_000, 7_200_000]) {
    const jumped = Date.now() + jumpMs;
    vi.spyOn(Date, "now").mockReturnValue(jumped);
    const elapsed = systemRuntime.now() - startedAt;
    expect(elapsed).toBeGreaterThanOrEqual(0);
    expect(elapsed).toBeLessThan(60_000);
  }
});
