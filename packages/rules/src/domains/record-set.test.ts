import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isSameRecordSet, mergedProblems, mergeValues, type RecordSet, readRecordSet } from "./record-set.ts";
import { anyRecordSet, exampleZone } from "./testing/sample-record-sets.ts";

const request = { name: "www", type: "A", ttl: null, values: ["192.0.2.1"] };
const problemsOf = (changes: Partial<Parameters<typeof readRecordSet>[0]>) => {
  const reading = readRecordSet({ ...request, ...changes }, exampleZone);
  return reading.ok ? [] : reading.problems.map(({ field, rule }) => `${field}: ${rule}`);
};
const addresses = (count: number) => Array.from({ length: count }, (_, index) => `192.0.2.${index}`);

describe("a record set of a request", () => {
  test("becomes canonical; without a TTL it has the domain's", () => {
    const given = { name: "WWW.example.com.", type: "cname", ttl: null, values: ["Web.Example.net"] };
    expect(readRecordSet(given, exampleZone)).toEqual({
      ok: true,
      recordSet: { name: "www", type: "CNAME", ttl: 3_600, values: ["web.example.net."] },
    });
  });

  test("is refused with all of its problems", () => {
    expect(problemsOf({ name: "a..b", ttl: 59, values: ["192.0.2.1", "x", "192.0.2.1", "::1"] })).toEqual([
      "name: empty_label",
      "ttl: ttl_range",
      "values[1]: address",
      "values[2]: duplicate_value",
      "values[3]: address",
    ]);
  });

  test("with the same value in two forms has it twice", () => {
    expect(problemsOf({ type: "AAAA", values: ["2001:db8::1", "2001:DB8:0::1"] })).toEqual([
      "values[1]: duplicate_value",
    ]);
  });

  test.each([
    [60, true],
    [604_800, true],
    [59, false],
    [604_801, false],
    [60.5, false],
    [Number.NaN, false],
  ])("with a TTL of %d s is accepted: %s", (ttl, isAccepted) => {
    expect(problemsOf({ ttl })).toEqual(isAccepted ? [] : ["ttl: ttl_range"]);
  });

  test("of a type that users do not set is refused", () => {
    expect(problemsOf({ type: "SOA" })).toEqual(["type: soa"]);
    expect(problemsOf({ type: "ALIAS" })).toEqual(["type: unsupported_type"]);
    expect(problemsOf({ type: "constructor" })).toEqual(["type: unsupported_type"]);
  });

  test("has from 1 to 100 values", () => {
    expect(problemsOf({ values: [] })).toEqual(["values: no_values"]);
    expect(problemsOf({ values: addresses(100) })).toEqual([]);
    expect(problemsOf({ values: addresses(101) })).toEqual(["values: too_many_values"]);
  });

  test("that follows a server has no other value", () => {
    expect(problemsOf({ values: ["auto:srv_1"] })).toEqual([]);
    expect(problemsOf({ values: ["auto:srv_1", "192.0.2.1"] })).toEqual([
      "values: server_reference_not_alone",
    ]);
    expect(problemsOf({ values: ["auto:srv_1", "auto:srv_2"] })).toEqual([
      "values: server_reference_not_alone",
    ]);
  });

  test("tells a hundred problems and how many more there are", () => {
    const reading = readRecordSet({ name: "", type: "A", ttl: 1, values: Array(100).fill("x") }, exampleZone);
    expect(reading).toMatchObject({ ok: false, moreProblems: 2 });
    expect(reading.ok ? [] : reading.problems).toHaveLength(100);
  });

  test("that says that there is no mail server names none", () => {
    const reading = readRecordSet(
      { name: "@", type: "MX", ttl: null, values: ["0 .", "10 mail.example.net."] },
      exampleZone,
    );
    expect(reading).toMatchObject({ ok: false, problems: [{ field: "values", rule: "null_mx_not_alone" }] });
  });

  test("that is canonical is read as it is", () => {
    fc.assert(
      fc.property(anyRecordSet, (recordSet) => {
        expect(readRecordSet(recordSet, exampleZone)).toEqual({ ok: true, recordSet });
      }),
    );
  });
});

describe("two record sets", () => {
  const one: RecordSet = { name: "www", type: "A", ttl: 60, values: ["192.0.2.1", "192.0.2.2"] };

  test("are the same whatever the order of their values", () => {
    expect(isSameRecordSet(one, { ...one, values: ["192.0.2.2", "192.0.2.1"] })).toBe(true);
  });

  test.each<[string, Partial<RecordSet>]>([
    ["name", { name: "web" }],
    ["type", { type: "AAAA" }],
    ["TTL", { ttl: 61 }],
    ["values", { values: ["192.0.2.1"] }],
    ["values, as many of them", { values: ["192.0.2.1", "192.0.2.1"] }],
  ])("differ by their %s", (_, difference) => {
    expect(isSameRecordSet(one, { ...one, ...difference })).toBe(false);
    expect(isSameRecordSet({ ...one, ...difference }, one)).toBe(false);
  });
});

describe("values are added and removed one by one", () => {
  const key = { name: "www", type: "A" } as const;
  const present: RecordSet = { ...key, ttl: 60, values: ["192.0.2.1", "192.0.2.2"] };
  const merge = (from: RecordSet | null, op: "add" | "remove", values: string[], ttl: number | null = null) =>
    mergeValues(key, from, { op, values, ttl }, 3_600);

  test("and the others stay, with their TTL", () => {
    expect(merge(present, "add", ["192.0.2.3"])).toEqual({
      ...present,
      values: ["192.0.2.1", "192.0.2.2", "192.0.2.3"],
    });
    expect(merge(present, "remove", ["192.0.2.1"])).toEqual({ ...present, values: ["192.0.2.2"] });
  });

  test("and a given TTL is the new one of all", () => {
    expect(merge(present, "add", ["192.0.2.1"], 120)).toEqual({ ...present, ttl: 120 });
  });

  test("the first value creates the record set with the domain's TTL, and the last one deletes it", () => {
    expect(merge(null, "add", ["192.0.2.1"])).toEqual({ ...key, ttl: 3_600, values: ["192.0.2.1"] });
    expect(merge(present, "remove", ["192.0.2.1", "192.0.2.2"])).toBeNull();
    expect(merge(null, "remove", ["192.0.2.1"])).toBeNull();
  });

  test("a repeated call changes nothing", () => {
    const values = fc.uniqueArray(fc.constantFrom(...addresses(6)), { minLength: 1 });
    fc.assert(
      fc.property(values, values, fc.constantFrom("add" as const, "remove" as const), (before, given, op) => {
        const once = merge({ ...key, ttl: 60, values: before }, op, given);
        expect(merge(once, op, given)).toEqual(once);
      }),
    );
  });

  test("together they are held to the limits of every record set", () => {
    expect(mergedProblems({ ...present, values: addresses(101) })).toMatchObject([
      { rule: "too_many_values" },
    ]);
    expect(mergedProblems({ ...present, values: ["auto:srv_1", "192.0.2.1"] })).toMatchObject([
      { rule: "server_reference_not_alone" },
    ]);
    expect(mergedProblems({ ...present, type: "TXT", values: ['"auto:srv_1"', '"b"'] })).toEqual([]);
  });
});
