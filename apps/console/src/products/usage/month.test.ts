import { expect, test } from "vitest";
import { monthOf } from "./month.ts";

const now = new Date("2026-11-21T10:00:00Z");

test("a month has its days in UTC, the previous month, and the next one if it has begun", () => {
  expect(monthOf("2026-02", now)).toMatchObject({
    from: "2026-02-01T00:00:00.000Z",
    to: "2026-03-01T00:00:00.000Z",
    previous: "2026-01",
    next: "2026-03",
  });
  expect(monthOf("2026-02", now).days.at(-1)).toBe("2026-02-28");
  expect(monthOf("2024-02", now).days).toHaveLength(29);
  expect(monthOf("2026-11", now)).toMatchObject({ id: "2026-11", next: null });
});

test.each([undefined, "", "2026-13", "2026-12", "2099-01", "x", "2026-1"])(
  "%j is the current month",
  (asked) => {
    expect(monthOf(asked, now).id).toBe("2026-11");
  },
);
