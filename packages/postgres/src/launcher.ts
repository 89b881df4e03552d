import { type ChildProcess, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { type Account, chooseAccount } from "./account.ts";
import { type Binaries, findBinaries, sharedDir } from "./binaries.ts";
import { type Cluster, openCluster, ownerRole } from "./cluster.ts";
import { PostgresError } from "./errors.ts";
import { findFreePort } from "./free-port.ts";
import { takeLauncherLock } from "./launcher-lock.ts";
import { endLeftovers } from "./leftovers.ts";

export interface PostgresOptions {
  /** Directory for the cluster, its password and its log; created when absent, resumed when present. */
  dataDir: string;
  /** TCP port on 127.0.0.1; any free one when absent. Ignored with `socketDir`. */
  port?: number;
  /** Listen on a unix socket in this directory and not on TCP. */
  socketDir?: string;
  /** Settings of postgresql.conf that overrule ours, e.g. `{ fsync: "off" }`. */
  settings?: Record<string, string | number>;
  /** Name of the database to offer; created when absent. `kule` when not given. */
  database?: string;
  log: (line: string) => void;
}

export interface RunningPostgres {
  /** Connection string of the owning superuser. */
  ownerUrl: string;
  socketDir: string | undefined;
  port: number;
  /** Resolves when Postgres ends without a request, with the reason. */
  unexpectedEnd: Promise<PostgresError>;
  /** Fast shutdown: open transactions are rolled back, everything committed is on disk. */
  stop(): Promise<void>;
}

const defaultSettings: Record<string, string | number> = {
  max_connections: 200,
  shared_buffers: "128MB",
  fsync: "on",
  jit: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  password_encryption: "scram-sha-256",
};

/**
 * Starts a real PostgreSQL from npm binaries, for try-outs and tests. Production uses a PostgreSQL of its
 * own.
 *
 * Works as root (drops to `postgres` or `nobody`) and as an ordinary user. Processes that an earlier, killed
 * run left behind on the same `dataDir` are ended first, and its data kept. If this process is killed, a
 * watchdog stops Postgres.
 *
 * @throws PostgresError with a code; see `errors.ts`.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const dataDir = resolve(options.dataDir);
  mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  if (process.getuid?.() === 0) chmodSync(dataDir, 0o711);
  const account = chooseAccount(join(dataDir, "pgdata"));
  const binaries = findBinaries(account, options.log);
  const unlock = takeLauncherLock(dataDir);
  try {
    const durable = (options.settings?.fsync ?? "on") !== "off";
    const cluster = openCluster({ dataDir, binaries, account, durable, log: options.log });
    await endLeftovers(cluster.dir, options.log);
    return await launch({ ...options, dataDir }, cluster, binaries, account, unlock);
  } catch (error) {
    unlock();
    throw error;
  }
}

async function launch(
  options: PostgresOptions,
  cluster: Cluster,
  binaries: Binaries,
  account: Account | undefined,
  unlock: () => void,
): Promise<RunningPostgres> {
  const attempts = options.port === undefined && options.socketDir === undefined ? 5 : 1;
  for (let attempt = 1; ; attempt += 1) {
    const port = options.socketDir === undefined ? (options.port ?? (await findFreePort())) : 5432;
    const child = spawnPostmaster(options, port, cluster, binaries, account);
    const urlTo = (database: string) => connectionString(cluster.password, port, options.socketDir, database);
    try {
      await waitUntilReady(child, urlTo("postgres"), options.dataDir);
      await createDatabase(urlTo("postgres"), options.database ?? "kule");
    } catch (error) {
      child.kill("SIGQUIT");
      // Another process may have taken the port between the check and the bind.
      if (attempt < attempts && error instanceof PostgresError && error.code === "start_failed") continue;
      throw error;
    }
    return supervise(child, cluster, unlock, {
      ownerUrl: urlTo(options.database ?? "kule"),
      socketDir: options.socketDir,
      port,
    });
  }
}

function spawnPostmaster(
  options: PostgresOptions,
  port: number,
  cluster: Cluster,
  binaries: Binaries,
  account: Account | undefined,
): ChildProcess {
  if (options.socketDir !== undefined && mkdirSync(options.socketDir, { recursive: true }) !== undefined) {
    if (account) chownSync(options.socketDir, account.uid, account.gid);
  }
  const settings: Record<string, string | number> = {
    ...defaultSettings,
    ...options.settings,
    port,
    listen_addresses: options.socketDir === undefined ? "127.0.0.1" : "",
    unix_socket_directories: options.socketDir === undefined ? "" : resolve(options.socketDir),
  };
  const log = openLog(join(options.dataDir, "postgres.log"));
  try {
    return spawn(
      binaries.postgres,
      ["-D", cluster.dir, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
      {
        cwd: "/",
        // Its own process group: Ctrl-C in a terminal must not stop it under the processes that use it.
        detached: true,
        env: { PATH: process.env.PATH, TZ: "UTC", LC_ALL: "C" },
        stdio: ["ignore", log, log],
        ...(account && { uid: account.uid, gid: account.gid }),
      },
    );
  } finally {
    closeSync(log);
  }
}

function openLog(path: string): number {
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes > 10_000_000) renameSync(path, `${path}.1`);
  return openSync(path, "a", 0o600);
}

function connectionString(
  password: string,
  port: number,
  socketDir: string | undefined,
  database: string,
): string {
  const host = socketDir === undefined ? `127.0.0.1:${port}` : encodeURIComponent(resolve(socketDir));
  return `postgres://${ownerRole}:${password}@${host}/${database}`;
}

async function waitUntilReady(child: ChildProcess, url: string, dataDir: string): Promise<void> {
  let ended: string | undefined;
  child.once("error", (error) => {
    ended = error.message;
  });
  child.once("exit", (code, signal) => {
    ended = `it ended with ${signal ?? `exit code ${code}`}`;
  });
  // Replaying the log of a killed run may take long; nothing is gained by giving up early.
  const deadline = performance.now() + 300_000;
  for (;;) {
    if (ended !== undefined) {
      throw new PostgresError(
        "start_failed",
        `Postgres did not start: ${ended}. Its log, ${join(dataDir, "postgres.log")}, ends:\n${tail(join(dataDir, "postgres.log"))}`,
      );
    }
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
    client.on("error", () => {});
    try {
      await client.connect();
      await client.end();
      if (ended === undefined) return;
    } catch (cause) {
      if (performance.now() > deadline) {
        throw new PostgresError("start_failed", "Postgres started but accepts no connections.", { cause });
      }
      await delay(20);
    }
  }
}

function tail(path: string): string {
  return readFileSync(path, "utf8").trimEnd().split("\n").slice(-8).join("\n");
}

async function createDatabase(adminUrl: string, name: string): Promise<void> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const { rowCount } = await client.query("select from pg_database where datname = $1", [name]);
    if (rowCount === 0) await client.query(`create database ${client.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
}

/** A shell that outlives this process by a moment: when its standard input closes, it stops Postgres. */
function spawnWatchdog(postmasterPid: number, clusterDir: string): ChildProcess {
  const script = 'read -r _; [ "$(readlink "/proc/$1/cwd")" = "$2" ] && kill -INT "$1"';
  const watchdog = spawn(
    "/bin/sh",
    ["-c", script, "kule-postgres-watchdog", String(postmasterPid), clusterDir],
    {
      cwd: "/",
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    },
  );
  watchdog.on("error", () => {});
  watchdog.stdin?.on("error", () => {});
  return watchdog;
}

function supervise(
  child: ChildProcess,
  cluster: Cluster,
  unlock: () => void,
  place: Pick<RunningPostgres, "ownerUrl" | "socketDir" | "port">,
): RunningPostgres {
  const watchdog = spawnWatchdog(child.pid ?? 0, cluster.dir);
  let stopping = false;
  const exited = new Promise<string>((settle) => {
    const describe = (code: number | null, signal: NodeJS.Signals | null) => signal ?? `exit code ${code}`;
    if (child.exitCode !== null || child.signalCode !== null)
      settle(describe(child.exitCode, child.signalCode));
    else child.once("exit", (code, signal) => settle(describe(code, signal)));
  });
  const unexpectedEnd = new Promise<PostgresError>((settle) => {
    exited.then((reason) => {
      watchdog.kill("SIGKILL");
      unlock();
      if (!stopping) settle(new PostgresError("stop_failed", `Postgres ended by itself: ${reason}.`));
    });
  });
  async function stop(): Promise<void> {
    if (!stopping) {
      stopping = true;
      child.kill("SIGINT");
    }
    const outcome = await Promise.race([exited, delay(20_000, "late" as const, { ref: false })]);
    if (outcome === "late") child.kill("SIGQUIT");
    await exited;
  }
  return { ...place, unexpectedEnd, stop };
}

/**
 * Removes everything that `startPostgres` created under `dataDir`, following the link to /var/lib/kule if
 * there is one.
 */
export function removePostgresData(dataDir: string): void {
  const pgdata = join(dataDir, "pgdata");
  if (lstatSync(pgdata, { throwIfNoEntry: false })?.isSymbolicLink()) {
    const home = dirname(readlinkSync(pgdata));
    if (dirname(home) === sharedDir) rmSync(home, { recursive: true, force: true });
  }
  rmSync(dataDir, { recursive: true, force: true });
}
