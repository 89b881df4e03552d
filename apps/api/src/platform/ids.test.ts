import { expect, test } from "vitest";
import { isId, newId } from "./ids.ts";

test("identifiers of one process sort in the order of their creation, however many there are in a millisecond", () => {
  const made = Array.from({ length: 20_000 }, () => newId("aud"));
  expect(made.filter((id, index) => index > 0 && id <= (made[index - 1] ?? "")).length).toBe(0);
  expect(made.filter((id) => !isId("aud", id)).length).toBe(0);
});
