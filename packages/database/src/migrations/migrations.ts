import { createHash } from "node:crypto";
import { baseline } from "./0001-baseline/baseline.ts";
import type { Migration } from "./migration-steps.ts";

/**
 * All migrations: statements by name, in the order of application. Forward only: a released migration never changes
 * its place or its text (released-migrations.ts). Until the first release a change is made in the baseline. `npm run
 * check` enforces both (migration-faults.ts).
 *
 * A migration after the baseline is applied while the release before it works on: its statements lock no table for
 * long, and take nothing away that this release uses (lock-faults.ts, compatibility-faults.ts, docs/adr/0049).
 *
 * A migration that creates a function ends with `functionRights`, as the baseline does.
 */
export const migrations: ReadonlyMap<string, Migration> = new Map([named("0001-baseline", baseline)]);

/**
 * A name ends with a digest of the statements, and the database stores the names of the applied migrations: so a
 * database that was migrated by other statements, such as those of an earlier baseline, is recognised.
 */
export function named(title: string, migration: Migration): [name: string, migration: Migration] {
  const statements = typeof migration === "string" ? migration : JSON.stringify(migration);
  const digest = createHash("sha256").update(statements).digest("hex");
  return [`${title}-${digest.slice(0, 12)}`, migration];
}
