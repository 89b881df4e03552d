import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { migrate } from "@kule/database/migrate";
import { type Account, chooseAccount } from "@kule/postgres/account";
import { findFreePort } from "@kule/postgres/free-port";
import pg from "pg";
import type { FreshDatabase } from "../database.ts";

const page = join(import.meta.dirname, "../../../../docs/runbooks/backup-and-restore.md");
const commandSeconds = 120;

/** The programs of the machine's own Postgres, the newest; null when it has none. */
function programs(): string | null {
  const folders = globSync("/usr/lib/postgresql/*/bin").filter((folder) =>
    ["initdb", "pg_ctl", "pg_basebackup", "pg_verifybackup"].every((name) => existsSync(join(folder, name))),
  );
  const versionOf = (folder: string) => Number(folder.split("/")[4]);
  return folders.toSorted((one, other) => versionOf(other) - versionOf(one))[0] ?? null;
}

/** Why a Postgres with its own tools cannot be run here; undefined when it can. */
export function probePostgresTools(): string | undefined {
  const folder = programs();
  if (folder === null) return "there are no programs of a Postgres server (apt-get install postgresql)";
  const version = Number(folder.split("/")[4]);
  return version >= 15 ? undefined : `the Postgres here is ${version}, and 15 or newer is needed`;
}

/**
 * A Postgres whose log is archived, and that is restored to a moment, by the commands of
 * docs/runbooks/backup-and-restore.md as they stand there. The commands that a service manager would run are ours.
 */
export class RestorablePostgres {
  readonly database: FreshDatabase;
  readonly #folder: string;
  readonly #port: number;
  readonly #bin: string;
  readonly #account: Account | undefined;
  readonly #parts: ReadonlyMap<string, readonly string[]>;
  #watchdog: ChildProcess | null = null;

  private constructor(folder: string, port: number, bin: string, account: Account | undefined) {
    this.#folder = folder;
    this.#port = port;
    this.#bin = bin;
    this.#account = account;
    this.#parts = partsOfPage(readFileSync(page, "utf8"));
    const urlOf = (user: string, password: string) => `postgres://${user}:${password}@127.0.0.1:${port}/kule`;
    const password = randomBytes(16).toString("hex");
    this.database = {
      ownerUrl: urlOf("postgres", password),
      apiUrl: urlOf("kule_api", password),
      workerUrl: urlOf("kule_worker", password),
      name: "kule",
      drop: () => this.close(),
    };
  }

  /** Starts an archived one, with a migrated database in it. */
  static async open(): Promise<RestorablePostgres> {
    const bin = programs();
    if (bin === null) throw new Error("there is no Postgres server on this machine");
    const folder = mkdtempSync(join(tmpdir(), "kule-restore-"));
    const account = chooseAccount(folder);
    const own = new RestorablePostgres(folder, await findFreePort(), bin, account);
    try {
      await own.#create();
      return own;
    } catch (error) {
      await own.close();
      throw error;
    }
  }

  async #create(): Promise<void> {
    this.#watchdog = spawnWatchdog(this.#bin, join(this.#folder, "data"), this.#account);
    chmodSync(this.#folder, 0o755);
    for (const name of ["", "backups", "backups/base", "backups/log", "sockets"]) {
      mkdirSync(join(this.#folder, name), { recursive: true });
      if (this.#account !== undefined)
        chownSync(join(this.#folder, name), this.#account.uid, this.#account.gid);
    }
    await this.#type(
      // Peers of the socket are trusted, as Debian trusts its account postgres.
      `initdb --username=postgres --auth-local=trust --auth-host=trust --encoding=UTF8 --locale=C --no-sync > /dev/null
       cat >> "$PGDATA/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
unix_socket_directories = '${join(this.#folder, "sockets")}'
max_connections = 100
jit = off
log_timezone = 'UTC'
timezone = 'UTC'
CONF`,
    );
    await this.start();
    await this.runPart("Archive the log");
    await this.stop("fast");
    await this.start();
    await this.#type("createdb kule");
    const password = new URL(this.database.apiUrl).password;
    await migrate(this.database.ownerUrl, { apiPassword: password, workerPassword: password });
  }

  /**
   * Types the commands of a section of the page.
   *
   * @param which of its blocks, from 0 on; all of them when left out
   */
  async runPart(
    heading: string,
    variables: Readonly<Record<string, string>> = {},
    which?: number,
  ): Promise<void> {
    const blocks = this.#parts.get(heading);
    if (blocks === undefined) throw new Error(`${page} has no section ${heading} with commands`);
    for (const block of which === undefined ? blocks : blocks.slice(which, which + 1))
      await this.#type(block, variables);
  }

  async start(): Promise<void> {
    await this.#type(
      `pg_ctl start --wait --silent --timeout=60 --log="${join(this.#folder, "postgres.log")}"`,
    );
  }

  async stop(mode: "fast" | "immediate"): Promise<void> {
    await this.#type(`pg_ctl stop --wait --silent --mode=${mode} --timeout=60`);
  }

  /** Until everything that was committed is in the archive. */
  async archiveAll(): Promise<void> {
    const client = await this.#connect();
    try {
      const { rows } = await client.query<{ file: string }>(
        "select pg_walfile_name(pg_switch_wal()) as file",
      );
      const file = rows[0]?.file ?? "";
      for (let tries = 0; !readdirSync(join(this.#folder, "backups/log")).includes(file); tries += 1) {
        if (tries > 600) throw new Error(`${file} is not archived`);
        await client.query("select pg_sleep(0.05)");
      }
    } finally {
      await client.end();
    }
  }

  /** A moment after all that was committed before this call, and before all that is later. */
  async moment(): Promise<string> {
    const client = await this.#connect();
    try {
      const { rows } = await client.query<{ now: string }>(
        "select pg_sleep(0.05), clock_timestamp()::text as now",
      );
      await client.query("select pg_sleep(0.05)");
      return rows[0]?.now ?? "";
    } finally {
      await client.end();
    }
  }

  /** Stops it and puts the state of the moment in its place, from the newest base backup. */
  async restoreTo(moment: string): Promise<void> {
    const restore = "Restore to a moment";
    await this.stop("immediate");
    const [base = ""] = readdirSync(join(this.#folder, "backups/base")).toSorted().reverse();
    await this.runPart(restore, { BASE: base, MOMENT: moment }, 0);
    await this.start();
    await this.runPart(restore, {}, 1);
    await this.runPart(restore, {}, 2);
  }

  async close(): Promise<void> {
    await this.stop("immediate").catch(() => {});
    this.#watchdog?.kill("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.database.ownerUrl });
    client.on("error", () => {});
    await client.connect();
    return client;
  }

  /** In a shell of Postgres' account, that ends at the first command that fails. */
  async #type(commands: string, variables: Readonly<Record<string, string>> = {}): Promise<void> {
    // Shells read a here-document from the script; one that is typed into `sh -c` would be the same.
    const script = join(this.#folder, "commands.sh");
    writeFileSync(script, `set -eu\n${commands}\n`, { mode: 0o644 });
    try {
      await promisify(execFile)("sh", [script], {
        cwd: "/",
        timeout: commandSeconds * 1000,
        env: {
          PATH: `${this.#bin}:/usr/local/bin:/usr/bin:/bin`,
          PGDATA: join(this.#folder, "data"),
          BACKUPS: join(this.#folder, "backups"),
          PGHOST: join(this.#folder, "sockets"),
          PGPORT: String(this.#port),
          PGUSER: "postgres",
          LC_ALL: "C",
          TZ: "UTC",
          ...variables,
        },
        ...(this.#account === undefined ? {} : { uid: this.#account.uid, gid: this.#account.gid }),
      });
    } catch (error) {
      const { stderr = "", stdout = "" } = error as { stderr?: string; stdout?: string };
      const log = spawnSync("tail", ["-n", "20", join(this.#folder, "postgres.log")], { encoding: "utf8" });
      throw new Error(`${commands}\nfailed: ${stdout}${stderr}\n${log.stdout}`, { cause: error });
    }
  }
}

/** Stops Postgres when this process has ended without doing so: its standard input closes then. */
function spawnWatchdog(bin: string, data: string, account: Account | undefined): ChildProcess {
  const script = 'read -r _; exec "$1/pg_ctl" stop --pgdata="$2" --mode=immediate --silent';
  const watchdog = spawn("/bin/sh", ["-c", script, "kule-postgres-watchdog", bin, data], {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    ...(account === undefined ? {} : { uid: account.uid, gid: account.gid }),
  });
  watchdog.on("error", () => {});
  watchdog.stdin?.on("error", () => {});
  watchdog.unref();
  return watchdog;
}

/** The `sh` blocks of a page by their section, without the indentation of a list. */
function partsOfPage(markdown: string): Map<string, string[]> {
  const parts = new Map<string, string[]>();
  for (const section of markdown.split(/^## /m).slice(1)) {
    const [heading = ""] = section.split("\n", 1);
    const blocks = [...section.matchAll(/^( *)```sh\n(.*?)^ *```$/gms)].map(([, indent = "", block = ""]) =>
      block.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    );
    if (blocks.length > 0) parts.set(heading, blocks);
  }
  return parts;
}
