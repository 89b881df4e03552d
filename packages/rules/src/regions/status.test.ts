import { expect, test } from "vitest";
import { regionStatus } from "./status.ts";

test.each([
  [false, null, false, "unreachable"],
  [false, 0, true, "ok"],
  [false, 60, true, "ok"],
  [false, 61, true, "unreachable"],
  [false, 20, false, "degraded"],
  [false, 3600, false, "unreachable"],
  [true, 0, true, "maintenance"],
  [true, null, false, "maintenance"],
] as const)(
  "with maintenance %s, a report %s s old that is fine: %s, the region is %s",
  (maintenance, age, ok, status) => {
    expect(regionStatus({ maintenance, reportAgeSeconds: age, reportOk: ok })).toBe(status);
  },
);
