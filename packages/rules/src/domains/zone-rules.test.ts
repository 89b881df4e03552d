import { describe, expect, test } from "vitest";
import type { RecordSet } from "./record-set.ts";
import type { RecordType } from "./record-types.ts";
import { zoneProblems } from "./zone-rules.ts";

const set = (name: string, type: RecordType, ...values: string[]): RecordSet => ({
  name,
  type,
  ttl: 60,
  values,
});
const rulesOf = (...sets: RecordSet[]) =>
  zoneProblems(sets, new Set(sets.map(({ name }) => name)), "example.com").map(
    ({ rule, name, type, field }) => `${name} ${type} ${field}: ${rule}`,
  );

describe("a zone is refused", () => {
  test("with a CNAME beside another type of its name, which is said with all of them", () => {
    const sets = [
      set("www", "TXT", '"a"'),
      set("www", "CNAME", "a.example.net."),
      set("www", "A", "192.0.2.1"),
    ];
    expect(rulesOf(...sets)).toEqual(["www CNAME type: cname_beside_others"]);
    expect(zoneProblems(sets, new Set(["www"]), "example.com")[0]?.message).toBe(
      "www.example.com has record sets of type TXT, A; a CNAME is the only one of its name",
    );
  });

  test("with a CNAME at the apex", () => {
    expect(rulesOf(set("@", "CNAME", "a.example.net."))).toEqual(["@ CNAME name: cname_at_apex"]);
  });

  test("with a CNAME of two names", () => {
    expect(rulesOf(set("www", "CNAME", "a.example.net.", "b.example.net."))).toEqual([
      "www CNAME values: cname_several_values",
    ]);
  });

  test("with name servers at the apex or of a wildcard", () => {
    expect(rulesOf(set("@", "NS", "a.example.net."), set("*.dev", "NS", "a.example.net."))).toEqual([
      "@ NS name: ns_at_apex",
      "*.dev NS name: wildcard_ns",
    ]);
  });
});

test("a zone with all that a zone may have is accepted", () => {
  expect(
    rulesOf(
      set("@", "A", "192.0.2.1"),
      set("@", "MX", "0 ."),
      set("www", "CNAME", "example.com."),
      set("*", "CNAME", "example.com."),
      set("dev", "NS", "ns1.example.net.", "ns2.example.net."),
      set("dev", "A", "192.0.2.1"),
    ),
  ).toEqual([]);
});

test("what a change did not touch is not checked again", () => {
  const old = [set("old", "CNAME", "a.example.net."), set("old", "A", "192.0.2.1")];
  expect(zoneProblems(old, new Set(["new"]), "example.com")).toEqual([]);
});
