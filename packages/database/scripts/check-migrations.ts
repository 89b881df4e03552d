/**
 * Checks the list of migrations: released ones are as they were, there is one baseline until then, and those after it can be
 * applied while the release before works on.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { baseline } from "../src/migrations/0001-baseline/baseline.ts";
import { functionRights } from "../src/migrations/0001-baseline/function-rights.ts";
import { compatibilityFaults, type KnownTables } from "../src/migrations/compatibility-faults.ts";
import { lockFaults } from "../src/migrations/lock-faults.ts";
import { migrationFaults } from "../src/migrations/migration-faults.ts";
import { migrations } from "../src/migrations/migrations.ts";
import { parseMigrations } from "../src/migrations/parse-migrations.ts";
import { releasedMigrations } from "../src/migrations/released-migrations.ts";
import { retired } from "../src/migrations/retired.ts";
import { retiredUses } from "../src/migrations/retired-uses.ts";

const root = path.join(import.meta.dirname, "../../..");
const releasedTables = JSON.parse(
  readFileSync(path.join(import.meta.dirname, "../src/migrations/released-tables.json"), "utf8"),
) as KnownTables;

/** What sends statements to the database. */
const sources = globSync(
  ["apps/api/src/**/*.ts", "packages/invariants/src/**/*.ts", "packages/database/src/*.ts"],
  {
    cwd: root,
  },
).filter((file) => !file.endsWith(".test.ts"));
const textOf = (file: string) => readFileSync(path.join(root, file), "utf8");

const afterBaseline = await parseMigrations([...migrations].slice(1), releasedMigrations);
const faults = [
  ...migrationFaults({
    names: [...migrations.keys()],
    released: releasedMigrations,
    isContractReleased: existsSync(path.join(root, "docs/api/released.yaml")),
    areTablesReleased: Object.keys(releasedTables).length > 0,
    baseline,
  }),
  ...lockFaults(afterBaseline, [functionRights.trim().replace(/;$/, "")]),
  ...compatibilityFaults(afterBaseline, releasedTables),
  ...(retired.length === 0 ? [] : retiredUses(retired, new Map(sources.map((file) => [file, textOf(file)])))),
];
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
