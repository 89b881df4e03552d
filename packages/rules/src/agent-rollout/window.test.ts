import { describe, expect, test } from "vitest";
import { isWindowOpen, nextOpening, type UpdateWindow } from "./window.ts";

// 2026-11-27 is a Friday.
const at = (text: string) => Date.parse(`2026-${text}Z`);
const nights: UpdateWindow = { days: ["mon", "fri"], from: "22:00", to: "04:00" };
const office: UpdateWindow = { days: ["fri"], from: "09:00", to: "17:30" };

describe("the window of updates", () => {
  test("without one, every time is in it", () => {
    expect(isWindowOpen(null, at("11-27T03:00"))).toBe(true);
  });

  test.each([
    ["before it begins", office, "11-27T08:59", false],
    ["from its first minute", office, "11-27T09:00", true],
    ["to its last minute", office, "11-27T17:29", true],
    ["not in the minute in which it ends", office, "11-27T17:30", false],
    ["not on another day", office, "11-26T12:00", false],
    ["on the evening of its day", nights, "11-27T23:00", true],
    ["on the night after its day", nights, "11-28T03:59", true],
    ["not in the morning of its day, which belongs to the day before", nights, "11-27T03:00", false],
    ["not when the night is over", nights, "11-28T04:00", false],
    ["all day long, with the same time twice", { days: ["fri"], from: "06:00", to: "06:00" }, "11-28T05:59", true],
    ["and not longer than a day", { days: ["fri"], from: "06:00", to: "06:00" }, "11-28T06:00", false],
    ["at the end of a year", { days: ["thu"], from: "23:00", to: "01:00" }, "12-31T23:30", true],
  ] as const)("is open %s", (_what, window, time, isOpen) => {
    expect(isWindowOpen(window, at(time))).toBe(isOpen);
  });

  test.each([
    ["later today", office, "11-27T08:00", "11-27T09:00"],
    ["in a week, when today's is over", office, "11-27T18:00", "12-04T09:00"],
    ["on the next of its days", nights, "11-28T05:00", "11-30T22:00"],
  ] as const)("opens next %s", (_what, window, time, opens) => {
    expect(nextOpening(window, at(time))).toBe(at(opens));
  });

  test("one without days never opens", () => {
    expect(nextOpening({ ...office, days: [] }, at("11-27T08:00"))).toBeNull();
  });
});
