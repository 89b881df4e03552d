import { compatibilityFaults } from "@kule/database/migrations/compatibility-faults";
import { lockFaults } from "@kule/database/migrations/lock-faults";
import type { Migration } from "@kule/database/migrations/migration-steps";
import { parseMigrations } from "@kule/database/migrations/parse-migrations";

/** What a release before knows in these cases. */
const before = { server: ["id", "organisation_id", "name", "status", "vcpu"], job: ["id", "kind", "status"] };

/** Each would keep everybody from a table for as long as all its rows are read or written. */
const locking: readonly Migration[] = [
  "create index server_status on server (status)",
  "create unique index server_name on server (name)",
  "alter table job alter column id type varchar",
  "alter table server add constraint positive check (vcpu > 0)",
  "alter table job add constraint of_server foreign key (kind) references server (id)",
  "alter table job add constraint once unique (id, kind)",
  "alter table job alter column note set not null",
  "alter table job add column key uuid default gen_random_uuid()",
  "alter table job add column twice integer generated always as (1) stored",
  "update job set note = 'x'",
  "lock table job in access exclusive mode",
  "reindex table job",
  "set lock_timeout = 0",
];

/** Each would make statements of the release before fail. */
const breaking: readonly Migration[] = [
  "alter table server drop column vcpu",
  "drop table job",
  "alter table server rename column name to title",
  "alter table job rename to task",
  "alter table job add column owner text not null",
  "alter table server alter column name set not null",
  "alter table server alter column status drop default",
  "alter table server add constraint known check (status <> 'lost') not valid",
  "revoke select on server from kule_api",
  "drop function kule_task_add(text)",
];

/** An expansion as it should be. */
const good: readonly Migration[] = [
  [
    "alter table job add column note text, add column since timestamptz not null default now()",
    { untilNone: "update job set note = '' where id in (select id from job where note is null limit 1000)" },
    { index: "create index concurrently job_note on job (note)" },
    "alter table job add constraint noted check (note is not null) not valid",
    "alter table job validate constraint noted",
    "alter table job alter column note set not null",
  ],
  "create table note (id text primary key); create index note_id on note (id)",
];

/** Asks the check of migrations about each, as `npm run check` does. */
export async function takenMigrations(): Promise<{
  readonly cases: number;
  readonly violations: readonly string[];
}> {
  const violations: string[] = [];
  const faultsOf = async (migration: Migration) => {
    const parsed = await parseMigrations([["0002-case", migration]], []);
    return { locks: lockFaults(parsed), breaks: compatibilityFaults(parsed, before) };
  };
  for (const each of locking)
    if ((await faultsOf(each)).locks.length === 0)
      violations.push(`a migration that keeps everybody from a table is let through: ${String(each)}`);
  for (const each of breaking)
    if ((await faultsOf(each)).breaks.length === 0)
      violations.push(`a migration that breaks the release before is let through: ${String(each)}`);
  for (const each of good) {
    const { locks, breaks } = await faultsOf(each);
    violations.push(...[...locks, ...breaks].map((fault) => `a good migration is refused: ${fault}`));
  }
  return { cases: locking.length + breaking.length + good.length, violations };
}
