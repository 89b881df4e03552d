import { expect, test } from "vitest";
import { everyMinutes } from "./every-minutes.ts";

test.each([1, 7, 10, 45, 90, 1440])("a task of every %i minutes never rests for longer", (minutes) => {
  const isDue = everyMinutes(minutes);
  const day = Array.from({ length: 1440 }, (_, at) => at).filter((at) =>
    isDue({ hour: Math.floor(at / 60), min: at % 60 }),
  );
  expect(day).toHaveLength(Math.ceil(1440 / minutes));
  const gaps = day.map((at, index) => (day[index + 1] ?? 1440) - at);
  expect(Math.max(...gaps)).toBe(minutes);
});
