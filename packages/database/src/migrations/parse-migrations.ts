import { parse } from "libpg-query";
import { type Migration, statementsOf, stepsOf } from "./migration-steps.ts";
import type { ParsedMigration, ParsedStatement } from "./parsed-migration.ts";

/** Reads migrations by Postgres' own parser. */
export async function parseMigrations(
  migrations: Iterable<readonly [name: string, migration: Migration]>,
  released: readonly string[],
): Promise<readonly ParsedMigration[]> {
  return Promise.all(
    Array.from(migrations, async ([name, migration]) => ({
      name,
      isReleased: released.includes(name),
      steps: await Promise.all(
        stepsOf(migration).map(async (step) => ({
          step,
          statements: await parseStatements(statementsOf(step)),
        })),
      ),
    })),
  );
}

async function parseStatements(text: string): Promise<ParsedStatement[]> {
  const bytes = Buffer.from(text);
  const { stmts = [] } = await parse(text);
  let begin = 0;
  return stmts.flatMap(({ stmt, stmt_location: at = 0, stmt_len: length = 0 }) => {
    const end = length === 0 ? bytes.length : at + length;
    const own = bytes.subarray(begin, end).toString();
    begin = end + 1;
    return stmt === undefined ? [] : [{ node: stmt, text: own }];
  });
}
