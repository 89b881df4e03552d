import { describe, expect, it, test } from "vitest";
import { functionRights } from "./0001-baseline/function-rights.ts";
import { compatibilityFaults, type KnownTables } from "./compatibility-faults.ts";
import type { Migration } from "./migration-steps.ts";
import { parseMigrations } from "./parse-migrations.ts";

const before: KnownTables = { server: ["id", "name", "note"], region: ["slug"] };

const faultsOf = async (migration: Migration) =>
  compatibilityFaults(await parseMigrations([["0002-example", migration]], []), before);

const retire = /in retired\.ts, release that, and drop it in the release after/;

/** What breaks the release before, and its twin that does not. */
const pairs: readonly (readonly [what: string, bad: string, why: RegExp, good: string])[] = [
  [
    "a column dropped",
    "alter table server drop column note",
    retire,
    "alter table server drop column retired_note",
  ],
  ["a table dropped", "drop table region", retire, "drop table retired_region"],
  [
    "a column renamed",
    "alter table server rename column note to remark",
    /uses the old name/,
    "alter table server add column remark text",
  ],
  [
    "a table renamed",
    "alter table server rename to machine",
    /uses the old name/,
    "create table machine (id text)",
  ],
  [
    "a column that must be filled",
    "alter table server add column size integer not null",
    /does not fill it/,
    "alter table server add column size integer not null default 1",
  ],
  [
    "another type",
    "alter table server alter column note type integer",
    /reads and writes the old type/,
    "alter table server alter column size type bigint",
  ],
  [
    "not null",
    "alter table server alter column note set not null",
    /may leave note empty/,
    "alter table server alter column size set not null",
  ],
  [
    "a default taken away",
    "alter table server alter column note drop default",
    /may rely on the default of note/,
    "alter table server alter column note set default 'x'",
  ],
  [
    "a tighter check",
    "alter table server add constraint c check (note <> 'x') not valid",
    /may write rows that it refuses/,
    "alter table server add constraint c check (size > 0) not valid",
  ],
  [
    "a reference from a column that it fills",
    "alter table server add constraint f foreign key (note) references region (slug) not valid",
    /may write rows that it refuses/,
    "alter table server add constraint f foreign key (region_of_size) references region (slug) not valid",
  ],
  [
    "a unique index",
    "create unique index concurrently u on server (note)",
    /may write two rows that are alike/,
    "create unique index concurrently u on server (name, size)",
  ],
  ["an index dropped", "drop index concurrently if exists server_name", /may use it/, "select 1"],
  ["a constraint dropped", "alter table server drop constraint c", /rely on it/, "select 1"],
  ["a function dropped", "drop function kule_task_add(text)", /may use it/, "select 1"],
  ["a trigger dropped", "drop trigger count on server", /may use it/, "select 1"],
  [
    "a right taken away",
    "revoke select on server from kule_api",
    /may need the right/,
    "grant select on server to kule_api",
  ],
  ["row-level security", "alter table region enable row level security", /kept from its rows/, "select 1"],
  ["rows removed", "delete from server where note = ''", /may need the rows/, "select 1"],
  ["all rows removed", "truncate server", /gone, also for a roll-back/, "select 1"],
];

describe("the check of what the release before needs", () => {
  test.each(pairs)("refuses %s, and takes its good twin", async (_, bad, why, good) => {
    const refused = await faultsOf(bad);
    expect(refused).toHaveLength(1);
    expect(refused[0]).toMatch(why);
    expect(refused[0]).toContain("0002-example, step 1, ");
    expect(await faultsOf(good)).toEqual([]);
  });

  it("takes what the release before does without, with the reason, where that cannot be seen from here", async () => {
    const reason = "-- obeyed: 1.2.0 writes no empty note, and has corrected the old ones\n";
    expect(
      await faultsOf(`${reason}alter table server add constraint c check (note <> '') not valid`),
    ).toEqual([]);
    expect(await faultsOf(`${reason}alter table server drop column note`)).toHaveLength(1);
  });

  it("takes everything in a table that the same release makes", async () => {
    expect(
      await faultsOf(
        "create table size (id text); alter table size add column n integer not null; alter table size rename to sizes; drop table size",
      ),
    ).toEqual([]);
  });

  it("takes the rights of functions as every migration ends with them", async () => {
    expect(await faultsOf(functionRights)).toEqual([]);
  });
});
