import fc from "fast-check";
import { expect, test } from "vitest";
import { serverNameProblem } from "./naming.ts";

test.each(["web-1", "a", "1a", "web", "x--y", "nope", "on-1", "e3", "1e", "0xg", "2026-11", "a".repeat(63)])(
  "%s is a name",
  (name) => {
    expect(serverNameProblem(name)).toBeNull();
  },
);

test.each([
  "",
  "-a",
  "a-",
  "A",
  "a_b",
  "a.b",
  "a b",
  "ä",
  "a\n",
  "a".repeat(64),
  "1",
  "007",
  "1e3",
  "1e-3",
  "0x1f",
  "0o17",
  "0b101",
  "2026-11-21",
  "yes",
  "no",
  "y",
  "n",
  "on",
  "off",
  "true",
  "false",
  "null",
])("%j is refused", (name) => {
  expect(serverNameProblem(name)).not.toBeNull();
});

test("every accepted name is a hostname label", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 70 }), (name) => {
      if (serverNameProblem(name) === null) expect(name).toMatch(/^(?!-)[a-z0-9-]{1,63}(?<!-)$/);
    }),
  );
});
