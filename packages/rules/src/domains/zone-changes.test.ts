import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isSameRecordSet, type RecordSet, recordSetKey } from "./record-set.ts";
import type { RecordType } from "./record-types.ts";
import { anyRecordSet, anyZone, exampleZone } from "./testing/sample-record-sets.ts";
import { applyZoneChanges, type PresentRecordSet, type ZoneChange } from "./zone-changes.ts";
import { zoneProblems } from "./zone-rules.ts";

const present = (name: string, type: RecordType, ...values: string[]): PresentRecordSet => ({
  name,
  type,
  ttl: 60,
  values,
  etag: `etag of ${name} ${type}`,
});
const change = (
  op: ZoneChange["op"],
  name: string,
  type: string,
  values: string[] = [],
  rest: Partial<ZoneChange> = {},
): ZoneChange => ({ op, name, type, ttl: null, values, ifMatch: null, ...rest });

const www = present("www", "A", "192.0.2.1");
const mail = present("@", "MX", "10 mail.example.com.");
const apply = (changes: ZoneChange[], sets: PresentRecordSet[] = [www, mail]) =>
  applyZoneChanges(sets, changes, exampleZone);
const refusal = (changes: ZoneChange[], sets?: PresentRecordSet[]) => {
  const decision = apply(changes, sets);
  if (decision.ok) throw new Error("was accepted");
  return {
    reason: decision.reason,
    problems: decision.problems.map(({ index, field, rule }) => `${index} ${field}: ${rule}`),
  };
};
const diff = (changes: ZoneChange[], sets?: PresentRecordSet[]) => {
  const decision = apply(changes, sets);
  if (!decision.ok) throw new Error(JSON.stringify(decision.problems));
  return decision.diff;
};

describe("a list of changes", () => {
  test("answers what it creates, changes and deletes, and the zone afterwards", () => {
    const decision = apply([
      change("upsert", "www", "A", ["192.0.2.2"], { ttl: 60 }),
      change("delete", "@", "MX"),
      change("upsert", "new", "TXT", ["hello"]),
    ]);
    const changed: RecordSet = { name: "www", type: "A", ttl: 60, values: ["192.0.2.2"] };
    const created: RecordSet = { name: "new", type: "TXT", ttl: 3_600, values: ['"hello"'] };
    expect(decision).toEqual({
      ok: true,
      recordSets: [changed, created],
      diff: { created: [created], changed: [{ before: www, after: changed }], deleted: [mail] },
    });
  });

  test("is applied in its order", () => {
    expect(
      diff([
        change("delete", "www", "A"),
        change("upsert", "www", "CNAME", ["web.example.net."]),
        change("add", "list", "A", ["192.0.2.1"]),
        change("add", "list", "A", ["192.0.2.2"]),
        change("remove", "list", "A", ["192.0.2.1"]),
      ]),
    ).toMatchObject({
      created: [{ type: "CNAME" }, { name: "list", values: ["192.0.2.2"] }],
      changed: [],
      deleted: [www],
    });
  });

  test("that says what is there already changes nothing", () => {
    const decision = apply([
      change("upsert", "www", "A", ["192.0.2.1"], { ttl: 60 }),
      change("add", "www", "A", ["192.0.2.1"]),
      change("remove", "www", "A", ["192.0.2.9"]),
      change("delete", "absent", "A"),
      change("remove", "absent", "A", ["192.0.2.9"]),
      change("delete", "@", "MX"),
      change("upsert", "@", "MX", ["10 mail.example.com"], { ttl: 60 }),
    ]);
    expect(decision).toEqual({
      ok: true,
      recordSets: [www, mail],
      diff: { created: [], changed: [], deleted: [] },
    });
  });

  test("adds a value with the present TTL", () => {
    expect(diff([change("add", "www", "A", ["192.0.2.2"])]).changed[0]?.after).toMatchObject({
      ttl: 60,
      values: ["192.0.2.1", "192.0.2.2"],
    });
  });
});

describe("a list of changes is refused as a whole", () => {
  test("with the problems of all of its changes", () => {
    expect(
      refusal([
        change("upsert", "ok", "A", ["192.0.2.1"]),
        change("upsert", "a..b", "A", ["x"]),
        change("delete", "www", "A", ["192.0.2.1"]),
        change("remove", "www", "SOA", ["x"]),
      ]),
    ).toEqual({
      reason: "invalid",
      problems: ["1 name: empty_label", "1 values[0]: address", "2 values: values_of_delete", "3 type: soa"],
    });
  });

  test("with the change that breaks a rule of the zone, or that touched the name of what breaks it", () => {
    expect(
      refusal([change("upsert", "x", "A", ["192.0.2.1"]), change("upsert", "www", "CNAME", ["a.b."])]),
    ).toEqual({
      reason: "invalid",
      problems: ["1 type: cname_beside_others"],
    });
    const cname = present("www", "CNAME", "a.example.net.");
    const decision = apply([change("upsert", "www", "TXT", ["a"])], [cname]);
    expect(decision).toMatchObject({ problems: [{ index: 0, name: "www", type: "CNAME" }] });
  });

  test("with values that are too many only after they are added", () => {
    const many = present("www", "A", ...Array.from({ length: 100 }, (_, index) => `192.0.2.${index}`));
    expect(refusal([change("add", "www", "A", ["192.0.2.200"])], [many]).problems).toEqual([
      "0 values: too_many_values",
    ]);
    expect(
      diff([change("add", "www", "A", ["192.0.2.200"]), change("remove", "www", "A", ["192.0.2.1"])], [many])
        .changed,
    ).toHaveLength(1);
    expect(refusal([change("add", "www", "A", ["auto:srv_1"])]).problems).toEqual([
      "0 values: server_reference_not_alone",
    ]);
  });

  test("and tells at most a hundred problems", () => {
    const decision = apply([
      change("upsert", "", "A", Array(100).fill("x"), { ttl: 1 }),
      ...Array.from({ length: 5 }, () => change("delete", "", "A")),
    ]);
    expect(decision).toMatchObject({ ok: false, moreProblems: 7 });
  });
});

describe("etags", () => {
  test("an etag that is the present one lets the change through", () => {
    expect(diff([change("delete", "www", "A", [], { ifMatch: www.etag })]).deleted).toEqual([www]);
  });

  test("another etag, or one of what is gone, is stale and not invalid", () => {
    expect(
      refusal([
        change("delete", "www", "A", [], { ifMatch: "old" }),
        change("upsert", "gone", "A", ["192.0.2.1"], { ifMatch: "old" }),
      ]),
    ).toEqual({ reason: "stale", problems: ["0 if_match: etag_differs", "1 if_match: etag_differs"] });
  });

  test("a star asks for a record set that exists, and the opposite for none", () => {
    const exists = change("upsert", "www", "A", ["192.0.2.2"], { ifMatch: "*" });
    const isNew = change("upsert", "new", "A", ["192.0.2.2"], { ifNoneMatch: true });
    expect(diff([exists, isNew])).toMatchObject({
      changed: [{ before: www }],
      created: [{ name: "new" }],
    });
    expect(
      refusal([
        { ...exists, name: "gone" },
        { ...isNew, name: "www" },
      ]),
    ).toEqual({
      reason: "stale",
      problems: ["0 if_match: etag_differs", "1 if_none_match: exists_already"],
    });
  });

  test("what is invalid by itself is said before, and what is against the zone's rules after", () => {
    const stale = change("upsert", "www", "CNAME", ["a.example.net."], { ifMatch: "old" });
    expect(refusal([stale]).reason).toBe("stale");
    expect(refusal([stale, change("delete", "", "A")])).toEqual({
      reason: "invalid",
      problems: ["1 name: empty_name"],
    });
  });

  test("they are compared with what was there before the whole list", () => {
    expect(
      diff([
        change("upsert", "www", "A", ["192.0.2.2"]),
        change("add", "www", "A", ["192.0.2.3"], { ifMatch: www.etag }),
      ]).changed,
    ).toHaveLength(1);
  });
});

test("the difference leads from the old zone to the new one, which holds the rules", () => {
  const anyChange = fc
    .tuple(anyRecordSet, fc.constantFrom("upsert", "delete", "add", "remove"))
    .map(
      ([set, op]): ZoneChange => ({ ...set, op, values: op === "delete" ? [] : set.values, ifMatch: null }),
    );
  fc.assert(
    fc.property(anyZone, fc.array(anyChange, { maxLength: 6 }), (sets, changes) => {
      const before = sets.map((set) => ({ ...set, etag: recordSetKey(set) }));
      const decision = applyZoneChanges(before, changes, exampleZone);
      if (!decision.ok) {
        expect(decision.problems.every(({ index }) => index < changes.length)).toBe(true);
        return;
      }
      const { recordSets, diff } = decision;
      const gone = new Set([...diff.deleted, ...diff.changed.map((one) => one.before)].map(recordSetKey));
      const led = [
        ...before.filter((set) => !gone.has(recordSetKey(set))),
        ...diff.changed.map(({ after }) => after),
        ...diff.created,
      ];
      expect(new Set(led)).toEqual(new Set(recordSets));
      expect(diff.changed.every((one) => !isSameRecordSet(one.before, one.after))).toBe(true);
      expect(zoneProblems(recordSets, new Set(recordSets.map(({ name }) => name)), "example.com")).toEqual(
        [],
      );
    }),
  );
});

test("one change needs only the record sets of its name", () => {
  const others = Array.from({ length: 10_000 }, (_, index) => present(`host-${index}`, "A", "192.0.2.1"));
  const changes = [
    change("upsert", "host-7", "A", ["192.0.2.2"]),
    change("upsert", "www", "AAAA", ["2001:db8::1"]),
  ];
  const ofNames = others.filter(({ name }) => name === "host-7");
  expect(diff(changes, others)).toEqual(diff(changes, ofNames));
});
