import { expect, test } from "vitest";
import { typedNumber } from "./posted-form.ts";

test.each([
  ["12", "12"],
  ["-3", "-3"],
  ["0.5", "0.5"],
  ["ten", '"ten"'],
  ["1e3", '"1e3"'],
  ["", '""'],
  ["12 ", '"12 "'],
])("%j goes into a body as %s, and never as null", (typed, sent) => {
  expect(JSON.stringify(typedNumber(typed))).toBe(sent);
});
