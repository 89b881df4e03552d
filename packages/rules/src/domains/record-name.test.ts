import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { absoluteName, readRecordName, relativeName } from "./record-name.ts";
import { anyRecordName } from "./testing/sample-record-sets.ts";

const read = (text: string, zone = "example.com") => {
  const reading = readRecordName(text, zone);
  return reading.ok ? reading.name : reading.problem.rule;
};

describe("names of record sets", () => {
  test.each([
    ["@", "@"],
    ["www", "www"],
    ["WWW", "www"],
    ["*", "*"],
    ["*.dev", "*.dev"],
    ["_acme-challenge.www", "_acme-challenge.www"],
    ["_sip._tcp", "_sip._tcp"],
    ["foo-", "foo-"],
    ["münchen", "xn--mnchen-3ya"],
    ["*.münchen", "*.xn--mnchen-3ya"],
    ["ü.123", "xn--tda.123"],
    ["example.com.", "@"],
    ["www.Example.com.", "www"],
    ["*.example.com.", "*"],
    ["www.example.com", "www.example.com"],
  ])("%j is %s", (text, name) => {
    expect(read(text)).toBe(name);
  });

  test.each([
    ["", "empty_name"],
    [".", "outside_zone"],
    ["www.", "outside_zone"],
    ["www.example.org.", "outside_zone"],
    ["wwwexample.com.", "outside_zone"],
    ["a..b", "empty_label"],
    [".a", "empty_label"],
    ["*..a", "empty_label"],
    ["a.*", "wildcard"],
    ["*.*", "wildcard"],
    ["a*", "wildcard"],
    ["*a.dev", "wildcard"],
    ["a b", "characters"],
    ["a/b", "characters"],
    ["a\\.b", "characters"],
    ["@.dev", "characters"],
    ["@.example.com.", "characters"],
    ["a\n", "characters"],
    ["a".repeat(64), "label_too_long"],
  ])("%j is refused: %s", (text, rule) => {
    expect(read(text)).toBe(rule);
  });

  test("the name and its zone together have at most 253 characters", () => {
    const zone = `${"z".repeat(63)}.${"z".repeat(63)}.${"z".repeat(63)}`;
    expect(read("a".repeat(61), zone)).toBe("a".repeat(61));
    expect(read("a".repeat(62), zone)).toBe("name_too_long");
    expect(read(`*.${"a".repeat(59)}`, zone)).toBe(`*.${"a".repeat(59)}`);
    expect(read(`*.${"a".repeat(60)}`, zone)).toBe("name_too_long");
  });

  test("a relative name and its absolute form are one name", () => {
    fc.assert(
      fc.property(anyRecordName, (name) => {
        const absolute = absoluteName(name, "example.com");
        expect(relativeName(absolute, "example.com")).toBe(name);
        expect(read(absolute)).toBe(name);
        expect(read(name)).toBe(name);
      }),
    );
  });

  test("no text makes the reader throw, and what it answers is read again", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: "binary" })), (text) => {
        const reading = readRecordName(text, "example.com");
        if (reading.ok) expect(readRecordName(reading.name, "example.com")).toEqual(reading);
      }),
    );
  });
});
