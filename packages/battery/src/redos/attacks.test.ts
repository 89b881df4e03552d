import { expect, test } from "vitest";
import { attacksOn, attackText, samplesOf } from "./attacks.ts";
import { patternsOf } from "./contract-patterns.ts";
import { matchTimer } from "./match-time.ts";
import { patternsIn } from "./source-patterns.ts";

/** The longest search on texts of 3,000 characters; of each text the quickest of some, as the machine is not ours. */
function slowestMs(pattern: RegExp, rounds = 1): number {
  const time = matchTimer();
  const texts = attacksOn(pattern.source).map((attack) => attackText(attack, 3_000));
  const runs = Array.from({ length: rounds }, () => time(pattern, texts));
  return Math.max(...texts.map((_, index) => Math.min(...runs.map((times) => times[index] ?? 0))));
}

test("each part of a pattern that accepts a character gives one", () => {
  expect(samplesOf(String.raw`^(?:ab|\d{2,3})[x-z.]+\x41\b\/$`)).toEqual(["a", "b", "0", "x", ".", "A", "/"]);
});

test.each([
  /^(a+)+$/,
  /^([a-z0-9]+-?)+$/,
  /^(\w|\d)*$/,
  /^[^@]+@[^@]+\.[^@]+$/,
  /\/+$/,
  /^\s*(.*)\s*,\s*$/,
  /start of it \d.*end of it/,
])("%s is caught", (pattern) => {
  // The many beginnings of the last one are fewer than its characters: at 100 kB it takes seconds.
  expect(slowestMs(pattern)).toBeGreaterThan(pattern.source.startsWith("start") ? 0.2 : 2);
});

test.each([/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, /^[^@]+@[^.@]+(\.[^.@]+)+$/, /={1,2}$/])(
  "%s is quick",
  (pattern) => {
    expect(slowestMs(pattern, 5)).toBeLessThan(2);
  },
);

test("a text has the requested length, and its end", () => {
  const text = attackText({ lead: "ab", pump: "xyz", end: "!" }, 20);
  expect(text).toHaveLength(20);
  expect(text).toMatch(/^abxyzxyz.*!$/);
});

test("patterns are found in literals, constructors and templates, and not in strings", () => {
  const { patterns, unknown } = patternsIn(
    "a.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    'const a = /x+/gi;\nconst b = new RegExp("y+", "u");\nconst c = RegExp(`^${a}z$`);\nconst d = "/no/"; new RegExp(d);',
  );
  expect(patterns).toEqual([
    { place: "a.ts:1", source: "x+", flags: "gi" },
    { place: "a.ts:2", source: "y+", flags: "u" },
    { place: "a.ts:3", source: "^xz$", flags: "" },
  ]);
  expect(unknown).toEqual(["a.ts:4"]);
  expect(() => patternsIn("b.ts", "const =")).toThrow(/b\.ts/);
});

test("patterns of a contract are found at any depth", () => {
  const contract = { a: [{ properties: { x: { type: "string", pattern: "^p$" } } }], pattern: 3 };
  expect(patternsOf(contract, "c")).toEqual([{ place: "c/a/0/properties/x", source: "^p$", flags: "u" }]);
});
