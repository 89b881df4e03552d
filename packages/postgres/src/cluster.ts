import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
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

/** File among Postgres' own in its data directory, so that both appear in one rename. */
const passwordFile = "superuser-password";
const draftPrefix = "pgdata.new-";

/**
 * Opens the cluster kept under `dataDir`, creating it when there is none. `dataDir` holds `pgdata` (or a link
 * to it) and the log; `pgdata` holds the owner's password (0600).
 *
 * @throws PostgresError `version_mismatch`, `password_missing`, `unreachable_for_account`, `initdb_failed`.
 */
export function openCluster(options: ClusterOptions): Cluster {
  const { dataDir, binaries, account } = options;
  const dir = join(dataDir, "pgdata");
  if (!existsSync(dir)) createCluster(options, chooseHome(options));

  const realDir = realpathSync(dir);
  removeDrafts(dirname(realDir));
  const found = Number(readFileSync(join(realDir, "PG_VERSION"), "utf8"));
  if (found !== binaries.major) {
    throw new PostgresError(
      "version_mismatch",
      `${dir} was written by PostgreSQL ${found}, and this is PostgreSQL ${binaries.major}. Dump it with the old version and load it into a new directory, move it away to start empty, or set DATABASE_URL.`,
    );
  }
  if (!existsSync(join(realDir, passwordFile))) {
    throw new PostgresError(
      "password_missing",
      `${join(realDir, passwordFile)} is gone; it held the password of ${ownerRole}.`,
    );
  }
  if (!canEnter(account, realDir)) {
    throw new PostgresError(
      "unreachable_for_account",
      `${realDir} cannot be entered by ${account?.name ?? "this user"}, who runs Postgres: open its parent directories (chmod o+x) or move the data.`,
    );
  }
  return { dir: realDir, password: readFileSync(join(realDir, passwordFile), "utf8").trim() };
}

/**
 * Runs initdb in a directory that no start reads and renames it when it is complete. Each attempt has its
 * own: the initdb of a killed attempt may still be writing to the former one.
 */
function createCluster({ binaries, account, durable }: ClusterOptions, home: string): void {
  removeDrafts(home);
  const draft = join(home, draftPrefix + randomBytes(4).toString("hex"));
  const draftPassword = `${draft}.password`;
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
  if (result.status !== 0) {
    throw new PostgresError(
      "initdb_failed",
      `initdb failed: ${result.error?.message ?? result.stderr.trim()}`,
    );
  }
  writeFileSync(join(draft, passwordFile), `${password}\n`, { mode: 0o600, flush: durable });
  rmSync(draftPassword);
  renameSync(draft, join(home, "pgdata"));
}

/** The leftovers of killed attempts; one that is still being written to is deleted at a later start. */
function removeDrafts(home: string): void {
  for (const name of readdirSync(home)) {
    if (!name.startsWith(draftPrefix)) continue;
    try {
      rmSync(join(home, name), { recursive: true, force: true });
    } catch {}
  }
}

/** `dataDir` itself, or a directory of /var/lib/kule when root's `dataDir` is closed to the account (/root). */
function chooseHome({ dataDir, account, log }: ClusterOptions): string {
  const dir = join(dataDir, "pgdata");
  if (lstatSync(dir, { throwIfNoEntry: false })?.isSymbolicLink()) {
    // A dangling link: an attempt was killed before its end, or the data was removed.
    const home = dirname(readlinkSync(dir));
    if (existsSync(home)) return home;
    throw new PostgresError(
      "start_failed",
      `${dir} points into ${home}, which is gone: remove the link to start afresh.`,
    );
  }
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
  symlinkSync(join(home, "pgdata"), dir);
  return home;
}
