import { expect, test } from "vitest";
import { carriedByHour } from "./traffic-hours.ts";

const carried = (hour: string, listener: string, requests: number) => ({
  hour,
  listener_id: listener,
  connections: 1,
  requests,
  errors: 3,
  bytes_in: 10,
  bytes_out: 20,
});

test("the hours of a day are in their order, with those in which nothing came, and all listeners together", () => {
  const hours = carriedByHour(
    [
      carried("2026-11-26T08:00:00.000Z", "lsn_a", 5),
      carried("2026-11-26T08:00:00.000Z", "lsn_b", 7),
      carried("2026-11-25T09:00:00.000Z", "lsn_a", 1),
      // Before the day that is shown.
      carried("2026-11-25T08:00:00.000Z", "lsn_a", 100),
    ],
    new Date("2026-11-26T08:59:59Z"),
  );
  expect(hours).toHaveLength(24);
  expect(hours[0]).toMatchObject({ hour: "2026-11-25T09:00:00.000Z", requests: 1 });
  expect(hours.at(-1)).toEqual({
    hour: "2026-11-26T08:00:00.000Z",
    connections: 2,
    requests: 12,
    errors: 6,
    bytesIn: 20,
    bytesOut: 40,
  });
  expect(hours.reduce((sum, { requests }) => sum + requests, 0)).toBe(13);
});
