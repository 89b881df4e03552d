import { latestMigration } from "@kule/database/migrate";
import { migrationOf } from "@kule/database/migrations/migration-steps";
import { migrations } from "@kule/database/migrations/migrations";
import type { Client } from "pg";
import { type Finding, good, someOf, wrong } from "./finding.ts";

const check = "migrations";

/** Whether the database has those of this build, and no others. */
export async function checkMigrations(client: Client): Promise<Finding[]> {
  const { rows: tables } = await client.query<{ found: boolean; readable: boolean }>(
    `select to_regclass('public.kule_migration') is not null as found,
            coalesce(has_table_privilege(to_regclass('public.kule_migration'), 'select'), false) as readable`,
  );
  const [table] = tables;
  if (table?.found !== true)
    return [wrong(check, "the database has no tables yet", "run `kule-server migrate`")];
  if (!table.readable)
    return [
      wrong(
        check,
        "the role may not read kule_migration",
        "grant select on kule_migration to kule_api as the owner",
      ),
    ];
  const { rows } = await client.query<{ name: string }>(
    "select name from kule_migration order by timestamp, name",
  );
  const applied = rows.map(({ name }) => name);
  const unknown = applied.filter((name) => !migrations.has(migrationOf(name)));
  if (unknown.length > 0)
    return [
      wrong(
        check,
        `the database was migrated by another build: ${someOf(unknown)}`,
        "install the build that migrated it, or a later release",
      ),
    ];
  const missing = [...migrations.keys()].filter((name) => !applied.includes(name));
  if (missing.length > 0) return [wrong(check, `missing: ${someOf(missing)}`, "run `kule-server migrate`")];
  return [good(check, `up to date, ${latestMigration}`)];
}
