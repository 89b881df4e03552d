import { describe, expect, test } from "vitest";
import { changesBetween } from "./row-changes.ts";
import { numbered, type Snapshot, sumsOf } from "./table-snapshot.ts";

const snapshot = (rows: Readonly<Record<string, Readonly<Record<string, unknown>>>>): Snapshot =>
  new Map([["server", new Map(Object.entries(rows))]]);
const row = (id: string, more = {}) => ({
  id: `srv_${id.repeat(26)}`,
  status: "creating",
  generation: 1,
  ...more,
});

test("two equal snapshots have no changes between them", () => {
  expect(changesBetween(snapshot({ a: row("1") }), snapshot({ a: row("1") }))).toEqual([]);
});

test("an added row is the same line whatever its ids, times, names and numbers are", () => {
  const one = changesBetween(
    snapshot({}),
    snapshot({ a: row("1", { name: "web-1", at: "2026-11-21T08:00:00.1+00:00", mac: "bc:24:11:00:4e:20" }) }),
  );
  const other = changesBetween(
    snapshot({ a: row("1") }),
    snapshot({
      a: row("1"),
      b: row("2", { name: "web-22", at: "2026-11-22T09:11:10+00:00", mac: "bc:24:11:aa:bb:cc" }),
    }),
  );
  expect(one).toEqual(other);
  expect(one).toHaveLength(1);
});

test("a row that was added in another state, or twice, is another change", () => {
  const once = changesBetween(snapshot({}), snapshot({ a: row("1") }));
  expect(changesBetween(snapshot({}), snapshot({ a: row("1", { status: "running" }) }))).not.toEqual(once);
  expect(changesBetween(snapshot({}), snapshot({ a: row("1"), b: row("2") }))).toEqual([...once, ...once]);
});

test("a counter that moved by two is not one that moved by one", () => {
  const by = (generation: number) =>
    changesBetween(snapshot({ a: row("1") }), snapshot({ a: row("1", { generation }) }));
  expect(by(2)).toEqual(['server * {"generation":"+1"}']);
  expect(by(3)).toEqual(['server * {"generation":"+2"}']);
});

test("a row that went is a change", () => {
  expect(changesBetween(snapshot({ a: row("1") }), snapshot({}))).toEqual([
    expect.stringMatching(/^server - /),
  ]);
});

test("a row that is equal to another one, in a table without a primary key, is a row of its own", () => {
  const failures = (count: number): Snapshot =>
    new Map([["login_failure", numbered(Array.from({ length: count }, () => ({ subject: "ada" })))]]);
  expect(changesBetween(failures(1), failures(3))).toHaveLength(2);
  expect(changesBetween(failures(2), failures(2))).toEqual([]);
});

describe("amounts", () => {
  const amounts = (rows: readonly Readonly<Record<string, unknown>>[]): Snapshot =>
    new Map([["quota_count", sumsOf(rows)]]);
  const firewalls = (amount: number) => ({ resource: "firewall", amount });

  test("that are counted in equal rows are a change each", () => {
    const one = amounts([firewalls(1)]);
    expect(changesBetween(one, amounts([firewalls(1), firewalls(1)]))).toEqual([
      'quota_count +1 {"resource":"firewall"}',
    ]);
    expect(changesBetween(one, amounts([firewalls(1), firewalls(1), firewalls(1)]))).toEqual([
      'quota_count +2 {"resource":"firewall"}',
    ]);
  });

  test("are the same change whether they were there before or not", () => {
    const first = changesBetween(amounts([]), amounts([firewalls(1)]));
    expect(changesBetween(amounts([firewalls(4)]), amounts([firewalls(4), firewalls(1)]))).toEqual(first);
  });

  test("do not change when their rows are replaced by the sum", () => {
    const many = [
      firewalls(2),
      firewalls(-1),
      { resource: "network", amount: 1 },
      { resource: "network", amount: -1 },
    ];
    expect(changesBetween(amounts(many), amounts([firewalls(1)]))).toEqual([]);
  });
});

describe("what no two runs share", () => {
  const added = (table: string, ...rows: readonly Readonly<Record<string, unknown>>[]) =>
    changesBetween(
      new Map([[table, new Map()]]),
      new Map([[table, new Map(rows.map((each, index) => [String(index), each]))]]),
    );

  test("serial numbers and drawn labels are alike, but not with none", () => {
    const one = added("certificate", { serial: "4af2", label: "kehsd7q" });
    expect(added("certificate", { serial: "bb01c", label: "x2zzz" })).toEqual(one);
    expect(added("certificate", { serial: null, label: "x2zzz" })).not.toEqual(one);
  });

  test("a rollout's regions count once for each state that they are in", () => {
    const waiting = (region: string) => ({ region, state: "waiting" });
    const one = added("agent_rollout_region", waiting("ist1"));
    expect(one).toHaveLength(1);
    expect(added("agent_rollout_region", waiting("ist1"), waiting("keys-x"))).toEqual(one);
    expect(added("agent_rollout_region", { region: "ist1", state: "offered" })).not.toEqual(one);
    expect(added("agent_rollout_region")).toEqual([]);
  });
});
