import { describe, expect, it } from "vitest";
import { migrationFaults } from "./migration-faults.ts";
import { named } from "./migrations.ts";

const [first] = named("0001-baseline", "create table a ();");
const [second] = named("0002-load-balancers", "create table b ();");
const unreleased = {
  names: [first],
  released: [],
  isContractReleased: false,
  areTablesReleased: false,
  baseline: "create table a ();",
};
const released = {
  ...unreleased,
  names: [first, second],
  released: [first],
  isContractReleased: true,
  areTablesReleased: true,
};

describe("the check of migrations", () => {
  it("accepts one baseline before the first release, and more migrations after it", () => {
    expect(migrationFaults(unreleased)).toEqual([]);
    expect(migrationFaults(released)).toEqual([]);
  });

  it("refuses a second migration before the first release", () => {
    expect(migrationFaults({ ...unreleased, names: [first, second] })).toEqual([
      expect.stringMatching(/^0002-load-balancers-.*: before the first release, edit the baseline/),
    ]);
  });

  it("refuses a released migration whose statements were changed", () => {
    const [edited] = named("0001-baseline", "create table a (b integer);");
    expect(migrationFaults({ ...released, names: [edited, second] })).toEqual([
      expect.stringContaining(`${first} has been released`),
    ]);
  });

  it("refuses a released migration that was removed", () => {
    expect(migrationFaults({ ...released, released: [first, second], names: [first] })).toEqual([
      expect.stringContaining(`${second} has been released`),
    ]);
  });

  it("refuses a number that was left out or is used twice", () => {
    const [third] = named("0003-load-balancers", "");
    const [twin] = named("0001-load-balancers", "");
    for (const name of [third, twin])
      expect(migrationFaults({ ...released, names: [first, name] })).toEqual([
        expect.stringContaining(`${name} is number 2`),
      ]);
  });

  it("refuses a release of which the contract, the migrations or the tables are not stored", () => {
    expect(migrationFaults({ ...unreleased, isContractReleased: true })).toHaveLength(1);
    expect(migrationFaults({ ...released, isContractReleased: false })).toHaveLength(1);
    expect(migrationFaults({ ...released, areTablesReleased: false })).toHaveLength(1);
  });

  it("refuses a baseline that changes a table which it has created", () => {
    for (const statement of [
      "alter table a add column b integer;",
      "create or replace function f() returns void language sql as 'select';",
      "drop index a_b;",
      "update a set b = 1;",
    ])
      expect(migrationFaults({ ...unreleased, baseline: `create table a ();\n${statement}` })).toHaveLength(
        1,
      );
  });
});
