import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "@kule/database/migrate";
import { findFreePort } from "@kule/postgres/free-port";
import { type RunningPostgres, removePostgresData, startPostgres } from "@kule/postgres/launcher";
import pg from "pg";
import type { FreshDatabase } from "../database.ts";

/**
 * How Postgres is stopped. fast: transactions are rolled back and everything is written. immediate: nothing
 * is, and the next start recovers from the log. kill: as when the machine loses the process, without a notice
 * to clients.
 */
export type StopMode = "fast" | "immediate" | "kill";

/** Of postgresql.conf. */
type Settings = Readonly<Record<string, string | number>>;

/** A Postgres of a test's own, which may be stopped, killed and started again, with a migrated database in it. */
export class PostgresCluster {
  /** Stays the same over restarts. */
  readonly database: FreshDatabase;
  readonly #directory: string;
  readonly #port: number;
  readonly #settings: Settings;
  #running: RunningPostgres | null;
  #admin: pg.Client | null = null;

  private constructor(
    directory: string,
    port: number,
    settings: Settings,
    running: RunningPostgres,
    apiUrl: string,
  ) {
    this.#settings = settings;
    this.#directory = directory;
    this.#port = port;
    this.#running = running;
    const workerUrl = new URL(apiUrl);
    workerUrl.username = "kule_worker";
    this.database = {
      ownerUrl: running.ownerUrl,
      apiUrl,
      workerUrl: workerUrl.href,
      name: "kule",
      drop: () => this.close(),
    };
  }

  /** Starts with fsync on, as in production: what is acknowledged must survive a kill. */
  static async open(settings: Settings = {}): Promise<PostgresCluster> {
    const directory = mkdtempSync(join(tmpdir(), "kule-cluster-"));
    // The account that Postgres runs under must pass.
    chmodSync(directory, 0o755);
    try {
      const port = await findFreePort();
      const running = await launch(directory, port, settings);
      const apiPassword = randomBytes(16).toString("hex");
      await migrate(running.ownerUrl, { apiPassword, workerPassword: apiPassword });
      const apiUrl = new URL(running.ownerUrl);
      apiUrl.username = "kule_api";
      apiUrl.password = apiPassword;
      return new PostgresCluster(directory, port, settings, running, apiUrl.href);
    } catch (error) {
      removePostgresData(join(directory, "postgres"));
      rmSync(directory, { recursive: true, force: true });
      throw error;
    }
  }

  get isUp(): boolean {
    return this.#running !== null;
  }

  /** Resolves when it is down. */
  async stop(mode: StopMode): Promise<void> {
    const running = this.#running;
    if (running === null) throw new Error("Postgres is down already");
    this.#running = null;
    this.#dropAdmin();
    if (mode === "fast") return running.stop();
    process.kill(this.#postmasterPid(), mode === "immediate" ? "SIGQUIT" : "SIGKILL");
    await running.unexpectedEnd;
  }

  /** Resolves when it takes connections again, after whatever it had to recover. */
  async start(): Promise<void> {
    if (this.#running !== null) throw new Error("Postgres is up already");
    this.#running = await launch(this.#directory, this.#port, this.#settings);
  }

  /**
   * Ends a backend by pg_terminate_backend: one of the clients' at random, never our own.
   *
   * @returns its application's name; null when there was none, or Postgres was going down
   */
  async terminateOne(random: () => number): Promise<string | null> {
    try {
      const admin = await this.#administrator();
      const { rows } = await admin.query<{ pid: number; application: string }>(
        `select pid, application_name as application from pg_stat_activity
          where backend_type = 'client backend' and application_name <> 'kule-rig' order by pid`,
      );
      const chosen = rows[Math.floor(random() * rows.length)];
      if (chosen === undefined) return null;
      await admin.query("select pg_terminate_backend($1)", [chosen.pid]);
      return chosen.application;
    } catch {
      this.#dropAdmin();
      return null;
    }
  }

  /** Stops it and removes everything. */
  async close(): Promise<void> {
    this.#dropAdmin();
    await this.#running?.stop();
    this.#running = null;
    removePostgresData(join(this.#directory, "postgres"));
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #administrator(): Promise<pg.Client> {
    if (this.#admin !== null) return this.#admin;
    const admin = new pg.Client({
      connectionString: this.database.ownerUrl,
      application_name: "kule-rig",
      connectionTimeoutMillis: 1_000,
    });
    admin.on("error", () => this.#dropAdmin());
    await admin.connect();
    this.#admin = admin;
    return admin;
  }

  #dropAdmin(): void {
    const admin = this.#admin;
    this.#admin = null;
    admin?.end().catch(() => {});
  }

  #postmasterPid(): number {
    const [first = ""] = readFileSync(
      join(this.#directory, "postgres", "pgdata", "postmaster.pid"),
      "utf8",
    ).split("\n");
    const pid = Number(first);
    if (!Number.isSafeInteger(pid) || pid <= 1) throw new Error(`postmaster.pid begins with ${first}`);
    return pid;
  }
}

function launch(directory: string, port: number, settings: Settings): Promise<RunningPostgres> {
  return startPostgres({
    dataDir: join(directory, "postgres"),
    port,
    settings: { fsync: "on", ...settings },
    log: () => {},
  });
}
