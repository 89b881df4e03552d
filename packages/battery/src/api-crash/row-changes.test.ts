import { expect, test } from "vitest";
import { changesBetween } from "./row-changes.ts";
import type { Snapshot } from "./table-snapshot.ts";

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
