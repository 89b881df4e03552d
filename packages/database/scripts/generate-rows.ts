/**
 * Row types from a freshly migrated database.
 *
 *   node scripts/generate-rows.ts [--out FILE]
 *
 * A real Postgres is started for it, so that the types are those of the applied migrations.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { removePostgresData, startPostgres } from "@kule/postgres/launcher";
import { migrate } from "../src/migrate.ts";
import { retired } from "../src/migrations/retired.ts";
import { withoutRetired } from "../src/migrations/row-types.ts";

const { values } = parseArgs({
  options: { out: { type: "string", default: path.join(import.meta.dirname, "../src/generated/rows.ts") } },
});

const dataDir = mkdtempSync(path.join(tmpdir(), "kule-rows-"));
const postgres = await startPostgres({ dataDir, settings: { fsync: "off" }, log: () => {} });
try {
  await migrate(postgres.ownerUrl);
  const raw = path.join(dataDir, "rows.ts");
  execFileSync(path.join(import.meta.dirname, "../node_modules/.bin/kysely-codegen"), [
    "--dialect=postgres",
    `--url=${postgres.ownerUrl}`,
    `--out-file=${raw}`,
    "--default-schema=public",
    "--include-pattern=public.*",
    "--log-level=error",
    '--type-mapping={"inet":"string","cidr":"string","macaddr":"string"}',
  ]);
  const banner =
    "// Generated from the migrations by packages/database/scripts/generate-rows.ts. Do not edit.\n";
  writeFileSync(values.out, banner + withoutRetired(readFileSync(raw, "utf8"), retired));
} finally {
  await postgres.stop();
  removePostgresData(dataDir);
}
