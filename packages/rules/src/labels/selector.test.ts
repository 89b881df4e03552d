import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type LabelTerm, parseLabelSelector, selectorMatches } from "./selector.ts";

const terms = (text: string): readonly LabelTerm[] => {
  const parsed = parseLabelSelector(text);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.terms;
};

describe("reading", () => {
  test.each<[string, LabelTerm[]]>([
    ["", []],
    ["role=web", [{ operator: "equals", key: "role", value: "web" }]],
    ["role == web", [{ operator: "equals", key: "role", value: "web" }]],
    ["role=", [{ operator: "equals", key: "role", value: "" }]],
    ["tier!=test", [{ operator: "not_equals", key: "tier", value: "test" }]],
    ["role in (web, api)", [{ operator: "in", key: "role", values: ["web", "api"] }]],
    ["role notin (web,web)", [{ operator: "not_in", key: "role", values: ["web"] }]],
    ["role", [{ operator: "exists", key: "role" }]],
    ["!role", [{ operator: "absent", key: "role" }]],
    ["example.org/owner=ada", [{ operator: "equals", key: "example.org/owner", value: "ada" }]],
    [
      "a=1, b in (x,y) ,!c",
      [
        { operator: "equals", key: "a", value: "1" },
        { operator: "in", key: "b", values: ["x", "y"] },
        { operator: "absent", key: "c" },
      ],
    ],
  ])("%j", (text, expected) => {
    expect(terms(text)).toEqual(expected);
  });

  test.each([
    "a=1,",
    ",",
    "a=b=c",
    "a in (x",
    "a in x",
    "a b",
    "=v",
    "a=$(x)",
    "-a",
    "a='x'",
    "a in ((x))",
    "!",
  ])("%j is refused", (text) => {
    expect(parseLabelSelector(text).ok).toBe(false);
  });

  test("twenty terms are enough", () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => `k${index}`).join(",");
    expect(parseLabelSelector(many(20)).ok).toBe(true);
    expect(parseLabelSelector(many(21)).ok).toBe(false);
  });

  test("no text makes it throw", () => {
    fc.assert(fc.property(fc.string(), (text) => typeof parseLabelSelector(text).ok === "boolean"));
  });
});

describe("matching", () => {
  test.each([
    ["role=web", { role: "web" }, true],
    ["role=web", {}, false],
    ["role!=web", {}, true],
    ["role!=web", { role: "web" }, false],
    ["role in (web,api)", { role: "api" }, true],
    ["role notin (web)", {}, true],
    ["role", { role: "" }, true],
    ["!role", { role: "" }, false],
    ["constructor", {}, false],
    ["a=1,b=2", { a: "1", b: "3" }, false],
  ])("%j on %j: %s", (text, labels, expected) => {
    expect(selectorMatches(terms(text), labels)).toBe(expected);
  });
});
