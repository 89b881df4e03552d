/**
 * What a release keeps of its database, for the checks of the next one: the names of its migrations, and the tables and columns
 * that its code knows.
 *
 *   node scripts/keep-release.ts
 */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { migrations } from "../src/migrations/migrations.ts";
import { knownTables } from "../src/migrations/row-types.ts";

const folder = path.join(import.meta.dirname, "../src/migrations");
const tables = knownTables(readFileSync(path.join(folder, "../generated/rows.ts"), "utf8"));
writeFileSync(path.join(folder, "released-tables.json"), `${JSON.stringify(tables, null, 2)}\n`);
const list = path.join(folder, "released-migrations.ts");
const names = [...migrations.keys()].map((name) => `  "${name}",\n`).join("");
const declaration = "export const releasedMigrations: readonly string[] = ";
const before = readFileSync(list, "utf8");
writeFileSync(list, `${before.slice(0, before.indexOf(declaration))}${declaration}[\n${names}];\n`);
