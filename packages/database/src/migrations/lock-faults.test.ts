import { describe, expect, it, test } from "vitest";
import { functionRights } from "./0001-baseline/function-rights.ts";
import { lockFaults } from "./lock-faults.ts";
import type { Migration } from "./migration-steps.ts";
import { parseMigrations } from "./parse-migrations.ts";
import { isolateTenants } from "./tenant-isolation.ts";

const faultsOf = async (...migrations: readonly Migration[]) =>
  lockFaults(
    await parseMigrations(
      migrations.map((each, index): [string, Migration] => [`000${index + 2}-example`, each]),
      [],
    ),
    [functionRights.trim().replace(/;$/, "")],
  );

/** What is refused, why, and what does the same without keeping anybody waiting. */
const pairs: readonly (readonly [what: string, bad: Migration, why: RegExp, good: Migration])[] = [
  [
    "an index",
    "create index server_note on server (note)",
    /nobody can write while the index is made/,
    [{ index: "create index concurrently server_note on server (note)" }],
  ],
  [
    "an index made concurrently in a transaction",
    "create index concurrently server_note on server (note)",
    /cannot run in a transaction/,
    [{ index: "create index concurrently server_note on server (note)" }],
  ],
  [
    "an index that is dropped",
    "drop index server_note",
    /it locks the table/,
    [{ alone: "drop index concurrently if exists server_note" }],
  ],
  [
    "a drop that fails the second time",
    [{ alone: "drop index concurrently server_note" }],
    /needs `if exists`/,
    [{ alone: "drop index concurrently if exists server_note" }],
  ],
  [
    "a check",
    "alter table server add constraint c check (note <> '')",
    /add it not valid/,
    [
      "alter table server add constraint c check (note <> '') not valid",
      "alter table server validate constraint c",
    ],
  ],
  [
    "a check that is validated where the table is locked",
    "alter table server add constraint c check (note <> '') not valid; alter table server validate constraint c",
    /in a step of its own/,
    [
      "alter table server add constraint c check (note <> '') not valid",
      "alter table server validate constraint c",
    ],
  ],
  [
    "a reference",
    "alter table server add constraint f foreign key (note_id) references note (id)",
    /add it not valid/,
    [
      "alter table server add constraint f foreign key (note_id) references note (id) not valid",
      "alter table server validate constraint f",
    ],
  ],
  [
    "a unique constraint",
    "alter table server add constraint u unique (note)",
    /make it concurrently/,
    [
      { index: "create unique index concurrently u on server (note)" },
      "alter table server add constraint u unique using index u",
    ],
  ],
  [
    "not null",
    "alter table server alter column note set not null",
    /all rows are read under a lock/,
    [
      "alter table server add constraint n check (note is not null) not valid",
      "alter table server validate constraint n",
      "alter table server alter column note set not null; alter table server drop constraint n",
    ],
  ],
  [
    "not null whose check was not validated",
    [
      "alter table server add constraint n check (note is not null) not valid",
      "alter table server alter column note set not null",
    ],
    /validate it in a step of its own/,
    [
      "alter table server add constraint n check (note is not null) not valid",
      "alter table server validate constraint n",
      "alter table server alter column note set not null",
    ],
  ],
  [
    "not null as Postgres 18 has it",
    "alter table server add constraint n not null note not valid",
    /Postgres 15 to 17 do not know it/,
    [
      "alter table server add constraint n check (note is not null) not valid",
      "alter table server validate constraint n",
      "alter table server alter column note set not null",
    ],
  ],
  [
    "another type",
    "alter table server alter column vcpu type bigint",
    /written anew under a lock/,
    [
      "alter table server add column vcpu_big bigint",
      {
        untilNone:
          "update server set vcpu_big = vcpu where id in (select id from server where vcpu_big is null limit 1000)",
      },
    ],
  ],
  [
    "a default with a value for each row",
    "alter table server add column key uuid not null default gen_random_uuid()",
    /gen_random_uuid\(\) may have another value for each/,
    [
      "alter table server add column key uuid; alter table server alter column key set default gen_random_uuid()",
    ],
  ],
  [
    "a generated column",
    "alter table server add column size integer generated always as (vcpu * 2) stored",
    /every row is written/,
    "alter table server add column size integer not null default 0, add column since timestamptz not null default now()",
  ],
  [
    "a serial number",
    "alter table server add column number bigserial",
    /every row is written for a serial number/,
    "alter table server add column number bigint",
  ],
  [
    "a check with a new column",
    "alter table server add column size integer check (size > 0)",
    /add the check afterwards/,
    [
      "alter table server add column size integer; alter table server add constraint s check (size > 0) not valid",
      "alter table server validate constraint s",
    ],
  ],
  [
    "a change of all rows",
    "update server set note = ''",
    /locks every row that it changes/,
    [
      {
        untilNone:
          "update server set note = '' where id in (select id from server where note is null limit 500)",
      },
    ],
  ],
  [
    "a step that changes all rows at once",
    [{ untilNone: "update server set note = '' where note is null" }],
    /by a subquery with `limit`/,
    [
      {
        untilNone:
          "update server set note = '' where id in (select id from server where note is null limit 500)",
      },
    ],
  ],
  ["a lock", "lock table server", /keeps everybody from the table/, "select 1"],
  ["all rows gone", "truncate server", /keeps everybody from the table/, "select 1"],
  ["a cluster", "cluster server using server_pkey", /keeps everybody from the table/, "select 1"],
  ["a vacuum", "vacuum full server", /cannot run in a transaction/, "select 1"],
  [
    "a reindex",
    "reindex table server",
    /reindex concurrently/,
    [{ alone: "reindex (concurrently) table server" }],
  ],
  [
    "a partition",
    "alter table audit attach partition audit_old for values from (minvalue) to ('2020-01-01')",
    /all rows are read or written/,
    "create table audit_old (like audit)",
  ],
  [
    "a partition that is detached",
    "alter table audit detach partition audit_old",
    /detach the partition concurrently/,
    [{ alone: "alter table audit detach partition audit_old concurrently" }],
  ],
  ["a block", "do $$ begin perform 1; end $$", /what a block does cannot be checked/, "select 1"],
  ["a limit of its own", "set local lock_timeout = 0", /sets how long a lock is waited for/, "select 1"],
  ["its own transactions", "select 1; commit; select 2", /write another step/, ["select 1", "select 2"]],
];

describe("the check of what a migration locks", () => {
  test.each(pairs)("refuses %s, and takes what does the same without a lock", async (_, bad, why, good) => {
    const refused = await faultsOf(bad);
    expect(refused).not.toEqual([]);
    expect(refused.join("\n")).toMatch(why);
    expect(await faultsOf(good)).toEqual([]);
  });

  it("says which statement of which step of which migration it is", async () => {
    const [fault] = await faultsOf("select 1", [
      "select 1",
      "select 2;\n-- why\n\ncreate index i on server\n (note)",
    ]);
    expect(fault).toMatch(/^0003-example, step 2, create index i on server \(note\): nobody can write/);
  });

  it("takes everything in a table that the same release makes", async () => {
    expect(
      await faultsOf([
        `create table note (id text primary key, text text); create index note_text on note (text); ${isolateTenants("note")}`,
        "alter table note alter column text set not null; update note set text = ''",
      ]),
    ).toEqual([]);
  });

  it("takes a small table with its reason, and a reason is a sentence", async () => {
    const statement = "alter table region alter column name type varchar";
    expect(await faultsOf(`select 1;\n-- small: an installation has some ten regions\n${statement}`)).toEqual(
      [],
    );
    expect(await faultsOf(`select 1;\n-- small:\n${statement}`)).toHaveLength(1);
    expect(
      await faultsOf(`-- small: an installation has some ten regions\nselect 1;\n${statement}`),
    ).toHaveLength(1);
  });

  it("does not look at released migrations again, and knows what they have validated", async () => {
    const checked: Migration = [
      "alter table server add constraint n check (note is not null) not valid",
      "alter table server validate constraint n",
    ];
    const migrations: [string, Migration][] = [
      ["0002-released", [...checked, "create index i on server (note)"]],
      ["0003-next", "alter table server alter column note set not null"],
    ];
    expect(lockFaults(await parseMigrations(migrations, ["0002-released"]))).toEqual([]);
  });

  it("takes the rights of functions as every migration ends with them", async () => {
    expect(
      await faultsOf(`create function f() returns integer language sql as 'select 1';${functionRights}`),
    ).toEqual([]);
  });
});
