/** Checks the list of migrations: released ones are as they were, and there is one baseline until then. */
import { existsSync } from "node:fs";
import path from "node:path";
import { baseline } from "../src/migrations/0001-baseline/baseline.ts";
import { migrationFaults } from "../src/migrations/migration-faults.ts";
import { migrations } from "../src/migrations/migrations.ts";
import { releasedMigrations } from "../src/migrations/released-migrations.ts";

const root = path.join(import.meta.dirname, "../../..");

const faults = migrationFaults({
  names: [...migrations.keys()],
  released: releasedMigrations,
  isContractReleased: existsSync(path.join(root, "docs/api/released.yaml")),
  baseline,
});
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
