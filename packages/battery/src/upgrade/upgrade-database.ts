import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type FreshDatabase, freshDatabase } from "@kule/testing/database";
import pg from "pg";

/** A database that a build has migrated by itself, and which other builds migrate. */
export type UpgradeDatabase = {
  readonly database: FreshDatabase;
  /** By the command of a build; how long it took, and what is wrong with how it ended. */
  migrate(apiMain: string): Promise<{ readonly seconds: number; readonly violations: readonly string[] }>;
  drop(): Promise<void>;
};

/** Made by the `migrate` of that build, from nothing. */
export async function databaseOf(apiMain: string): Promise<UpgradeDatabase> {
  // Its roles and their passwords are the cluster's.
  const donor = await freshDatabase();
  const name = `${donor.name}_upgrade`;
  const at = (url: string) => {
    const own = new URL(url);
    own.pathname = `/${name}`;
    return own.href;
  };
  const database: FreshDatabase = {
    ownerUrl: at(donor.ownerUrl),
    apiUrl: at(donor.apiUrl),
    workerUrl: at(donor.workerUrl),
    name,
    drop: () => administer(`drop database if exists ${name} with (force)`),
  };
  const administer = async (statement: string) => {
    const admin = new pg.Client({ connectionString: donor.ownerUrl });
    await admin.connect();
    await admin.query(statement).finally(() => admin.end());
  };
  const migrate: UpgradeDatabase["migrate"] = async (main) => {
    const startedAt = performance.now();
    const violations: string[] = [];
    await promisify(execFile)(process.execPath, [main, "migrate"], {
      env: { PATH: process.env.PATH ?? "", KULE_OWNER_DATABASE_URL: database.ownerUrl },
    }).catch((error: Error) => violations.push(`the migration failed: ${error.message}`));
    return { seconds: (performance.now() - startedAt) / 1000, violations };
  };
  const drop = async () => {
    await database.drop();
    await donor.drop();
  };
  try {
    await administer(`create database ${name} template template0 encoding 'UTF8'`);
    const { violations } = await migrate(apiMain);
    if (violations.length > 0) throw new Error(violations.join("\n"));
    return { database, migrate, drop };
  } catch (error) {
    await drop();
    throw error;
  }
}
