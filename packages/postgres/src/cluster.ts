import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type Account, canEnter } from "./account.ts";
import { type Binaries, sharedDir } from "./binaries.ts";
import { PostgresError } from "./errors.ts";

/** The role that owns everything: superuser of the cluster, used to migrate. */
export const ownerRole = "kule_owner";

export interface ClusterOptions {
  dataDir: string;
  binaries: Binaries;
  account: Account | undefined;
  /** False skips the wait for the disk when the cluster is created. */
  durable: boolean;
  log: (line: string) => void;
}

export interface Cluster {
  /** Real path of the directory that Postgres calls its data directory. */
  dir: string;
  /** Password of `kule_owner`. */
  password: string;
}

/**
 * Opens the cluster kept under `dataDir`, creating it when there is none. `dataDir` holds `pgdata` (or a link
 * to it), `superuser-password` (0600) and the log.
 *
 * @throws PostgresError `version_mismatch`, `password_missing`, `unreachable_for_account`, `initdb_failed`.
 */
export function openCluster(options: ClusterOptions): Cluster {
  const { dataDir, binaries, account } = options;
  const dir = join(dataDir, "pgdata");
  const passwordFile = join(dataDir, "superuser-password");
  if (isDanglingLink(dir)) {
    throw new PostgresError(
      "start_failed",
      `${dir} points to a directory that is gone: remove the link to start afresh.`,
    );
  }
  if (!existsSync(dir)) createCluster(options, passwordFile);

  const found = Number(readFileSync(join(dir, "PG_VERSION"), "utf8"));
  if (found !== binaries.major) {
    throw new PostgresError(
      "version_mismatch",
      `${dir} was written by PostgreSQL ${found}, and this is PostgreSQL ${binaries.major}. Dump it with the old version and load it into a new directory, move it away to start empty, or set DATABASE_URL.`,
    );
  }
  if (!existsSync(passwordFile)) {
    throw new PostgresError(
      "password_missing",
      `${passwordFile} is gone; it held the password of ${ownerRole} for ${dir}.`,
    );
  }
  const realDir = realpathSync(dir);
  if (!canEnter(account, realDir)) {
    throw new PostgresError(
      "unreachable_for_account",
      `${realDir} cannot be entered by ${account?.name ?? "this user"}, who runs Postgres: open its parent directories (chmod o+x) or move the data.`,
    );
  }
  return { dir: realDir, password: readFileSync(passwordFile, "utf8").trim() };
}

function createCluster(
  { dataDir, binaries, account, durable, log }: ClusterOptions,
  passwordFile: string,
): void {
  const home = chooseHome(dataDir, account, log);
  // initdb works in a directory that no start looks at, so one killed halfway is simply begun again.
  const draft = join(home, "pgdata.new");
  const draftPassword = join(home, "superuser-password.new");
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  const password = randomBytes(24).toString("base64url");
  writeFileSync(draftPassword, password, { mode: 0o600 });
  if (account) {
    chownSync(draft, account.uid, account.gid);
    chownSync(draftPassword, account.uid, account.gid);
  }
  const result = spawnSync(
    binaries.initdb,
    [
      `--pgdata=${draft}`,
      `--username=${ownerRole}`,
      `--pwfile=${draftPassword}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      "--no-locale",
      "--locale-provider=builtin",
      "--builtin-locale=C.UTF-8",
      "--no-instructions",
      ...(durable ? [] : ["--no-sync"]),
    ],
    {
      cwd: "/",
      encoding: "utf8",
      env: { PATH: process.env.PATH, TZ: "UTC" },
      ...(account && { uid: account.uid, gid: account.gid }),
    },
  );
  rmSync(draftPassword, { force: true });
  if (result.status !== 0) {
    throw new PostgresError(
      "initdb_failed",
      `initdb failed: ${result.error?.message ?? result.stderr.trim()}`,
    );
  }
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  chmodSync(passwordFile, 0o600);
  renameSync(draft, join(home, "pgdata"));
  if (home !== dataDir) symlinkSync(join(home, "pgdata"), join(dataDir, "pgdata"));
}

/** `dataDir` itself, or a directory of /var/lib/kule when root's `dataDir` is closed to the account (/root). */
function chooseHome(dataDir: string, account: Account | undefined, log: (line: string) => void): string {
  if (canEnter(account, dataDir)) return dataDir;
  const home = join(sharedDir, `postgres-${randomBytes(4).toString("hex")}`);
  mkdirSync(home, { recursive: true, mode: 0o711 });
  if (!canEnter(account, home)) {
    throw new PostgresError(
      "unreachable_for_account",
      `Neither ${dataDir} nor ${home} can be entered by ${account?.name ?? "this user"}, who runs Postgres. Choose another place for the data or set DATABASE_URL.`,
    );
  }
  log(`keeping the data of Postgres in ${home}, since ${dataDir} is closed to ${account?.name}`);
  return home;
}

function isDanglingLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true && !existsSync(path);
}
