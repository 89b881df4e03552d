import type { DB } from "@kule/database/generated/rows";
import {
  type DatabaseConnection,
  Kysely,
  type KyselyPlugin,
  PostgresDialect,
  type PostgresPool,
} from "kysely";
import pg from "pg";
import { type News, newsOfNotice } from "./committed-news.ts";
import { committing } from "./crash-points.ts";
import { DatabaseAway } from "./database-errors.ts";
import { isOfReadOnly, PrimaryClient } from "./primary-client.ts";
import { tenantGuard } from "./tenant-guard.ts";

export type Database = Kysely<DB>;

declare const inTransaction: unique symbol;
/** A transaction (see transaction.ts). */
export type Tx = Kysely<DB> & { readonly [inTransaction]: true };

/** Where transactions of a database get their connections. */
type TransactionPool = {
  readonly connect: () => Promise<pg.PoolClient>;
  readonly plugins: readonly KyselyPlugin[];
};

const pools = new WeakMap<Kysely<DB>, TransactionPool>();
const connections = new WeakMap<Kysely<DB>, DatabaseConnection>();

export function notePool(db: Database, pool: TransactionPool): void {
  pools.set(db, pool);
}

export function poolOf(db: Database): TransactionPool {
  const pool = pools.get(db);
  if (pool === undefined) throw new Error("a transaction begins on the database as it was opened");
  return pool;
}

export function noteConnection(tx: Tx, connection: DatabaseConnection): void {
  connections.set(tx, connection);
}

export function connectionOf(tx: Tx): DatabaseConnection {
  const connection = connections.get(tx);
  if (connection === undefined) throw new Error("this is no transaction");
  return connection;
}

export function isTransaction(connection: Database | Tx): connection is Tx {
  return connections.has(connection);
}

export type DatabaseOptions = {
  readonly url: string;
  readonly poolSize: number;
  /** Longest any one statement may take, in milliseconds. */
  readonly statementTimeoutMs?: number;
  /**
   * Longest time without any answer to what was sent, in milliseconds: a machine that is paused or cut off says nothing,
   * not even that a statement took too long.
   */
  readonly silenceMs?: number;
  /** Refuse queries on tenant tables without organisation_id; for tests. */
  readonly guardTenants: boolean;
  readonly onIdleError?: (error: Error) => void;
  /**
   * Called with what each committed transaction changed; without it, waiting requests find out when they
   * check again.
   */
  readonly onNews?: (news: readonly News[]) => void;
};

export type OpenDatabase = {
  readonly db: Database;
  /** Connections in use, idle, and requests waiting for one. */
  poolUse(): { total: number; idle: number; waiting: number };
  close(): Promise<void>;
};

/** Names of prepared statements by their text: the same for all connections of the process. */
const statementNames = new Map<string, string>();
const maxStatements = 1000;

/**
 * The end of a statement whose best plan depends on its values, such as a list's with a filter that nothing or everything
 * passes: it is planned each time. For a prepared one Postgres soon takes one plan for all values.
 */
export const plannedEachTime = "/* planned each time */";

function statementName(text: string): string | undefined {
  if (text.endsWith(plannedEachTime)) return undefined;
  const known = statementNames.get(text);
  if (known !== undefined) return known;
  if (statementNames.size >= maxStatements) return undefined;
  const name = `kule_${statementNames.size}`;
  statementNames.set(text, name);
  return name;
}

/**
 * Sends what has parameters as a named prepared statement, so that Postgres parses and plans each text once a
 * connection; distinguishes a broken connection from an answer of Postgres, so that no caller needs to read
 * error texts; and publishes what a transaction changed once it is committed.
 */
function preparingClient(onNews: (news: readonly News[]) => void, silenceMs: number): typeof pg.Client {
  return class PreparingClient extends PrimaryClient {
    readonly #news: News[] = [];
    #inTransaction = false;
    #unanswered = 0;
    #silence: NodeJS.Timeout | undefined;

    constructor(config?: pg.ClientConfig) {
      super(config);
      this.on("notice", (notice) => {
        const news = newsOfNotice(notice);
        if (news !== null) this.#news.push(news);
      });
    }

    // biome-ignore lint/suspicious/noExplicitAny: the overloads of pg cannot be restated; calls in other shapes pass.
    override query(...args: any[]): any {
      const [text, values, callback] = args;
      if (typeof text !== "string" || callback !== undefined || typeof values === "function") {
        return super.query(...(args as [string]));
      }
      const name = Array.isArray(values) && values.length > 0 ? statementName(text) : undefined;
      const send = () =>
        name === undefined ? super.query(text, values) : super.query({ name, text, values });
      const answer = text === "commit" ? committing(send) : send();
      this.#isSent();
      return answer.then(
        (result: unknown) => {
          this.#isAnswered();
          this.#passOn(text);
          return result;
        },
        (error: unknown) => {
          this.#isAnswered();
          if (!this.#inTransaction || text === "commit") this.#news.length = 0;
          throw saysSomething(error) ? error : new DatabaseAway(error);
        },
      );
    }

    #isSent(): void {
      this.#unanswered += 1;
      if (this.#unanswered > 1) return;
      const seconds = silenceMs / 1000;
      this.#silence = setTimeout(() => {
        this.wire.stream.destroy(new Error(`Postgres has not answered anything for ${seconds} s`));
      }, silenceMs);
      this.#silence.unref();
    }

    #isAnswered(): void {
      this.#unanswered -= 1;
      if (this.#unanswered === 0) clearTimeout(this.#silence);
      else this.#silence?.refresh();
    }

    #passOn(text: string): void {
      if (text.startsWith("begin") || text.startsWith("start transaction")) this.#inTransaction = true;
      else if (text === "commit" || text === "rollback") this.#inTransaction = false;
      if (this.#inTransaction || this.#news.length === 0) return;
      const news = this.#news.splice(0);
      if (text !== "rollback") onNews(news);
    }
  };
}

/** False for an error after which nothing is known, or by which a Postgres says that it is not the primary. */
function saysSomething(error: unknown): boolean {
  if (error instanceof TypeError) return true;
  return error instanceof pg.DatabaseError && !isOfReadOnly(error);
}

/**
 * Opens the pool. It connects at the first use: while the database is unreachable, a request that needs it
 * answers 503, and the first request after its return works without a restart.
 */
export function openDatabase(options: DatabaseOptions): OpenDatabase {
  const onError = options.onIdleError ?? (() => {});
  const statementMs = options.statementTimeoutMs ?? 10_000;
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    Client: preparingClient(options.onNews ?? (() => {}), options.silenceMs ?? statementMs + 10_000),
    options: "-c client_min_messages=notice",
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    statement_timeout: statementMs,
    // Shorter, so that a wait for a row ends as one and not as a slow statement.
    lock_timeout: 5_000,
    idle_in_transaction_session_timeout: 30_000,
    application_name: "kule-api",
    // Statements that do not wait for each other are sent together (see transaction.ts).
    pipeline: true,
  } as pg.PoolConfig);
  pool.on("error", onError);
  pool.on("connect", (client) => client.on("error", onError));
  const connecting: PostgresPool = {
    options: pool.options,
    connect: () =>
      // Whatever the reason, a refused password included: to the request it is a database that is not there.
      pool.connect().catch((error: unknown) => {
        throw new DatabaseAway(error);
      }) as ReturnType<PostgresPool["connect"]>,
    end: () => pool.end(),
  };
  const plugins = options.guardTenants ? [tenantGuard] : [];
  const db = new Kysely<DB>({ dialect: new PostgresDialect({ pool: connecting }), plugins });
  notePool(db, { connect: connecting.connect as TransactionPool["connect"], plugins });
  return {
    db,
    poolUse: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => db.destroy(),
  };
}

const reasons = new Set<string>();

/**
 * The same database without the tenant guard: for queries that belong to no single organisation (by region,
 * by token, of the worker). The reason is stored, so that a test can list the exemptions.
 */
export function systemQuery<Connection extends Database | Tx>(
  connection: Connection,
  reason: string,
): Connection {
  reasons.add(reason);
  const bare = connection.withoutPlugins() as Connection;
  const own = connections.get(connection);
  if (own !== undefined) connections.set(bare, own);
  const pool = pools.get(connection);
  if (pool !== undefined) pools.set(bare, { ...pool, plugins: [] });
  return bare;
}

/** Reasons given to systemQuery so far in this process. */
export function systemQueryReasons(): readonly string[] {
  return [...reasons];
}
