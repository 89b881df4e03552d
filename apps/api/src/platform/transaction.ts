import type { DB } from "@kule/database/generated/rows";
import {
  type Compilable,
  type CompiledQuery,
  type DatabaseConnection,
  DefaultQueryExecutor,
  Kysely,
  type KyselyPlugin,
  PostgresAdapter,
  PostgresDialect,
  PostgresQueryCompiler,
  type QueryResult,
  type RawBuilder,
} from "kysely";
import type { QueryResult as PgResult, PoolClient } from "pg";
import { connectionOf, type Database, noteConnection, poolOf, type Tx } from "./database.ts";
import { refusedSinceRestore } from "./restored-regions.ts";

/*
 * Transactions with few round trips. A statement is written to the connection when it is called, without a wait for
 * the answers of those before it (pg's pipeline mode):
 *
 *   begin                is not waited for: it is answered together with the first read
 *   sendAhead(tx, q)     is not waited for: its error is that of the next statement that is, or of the commit
 *   Promise.all([a, b])  of reads is one round trip
 *
 * Postgres works in the order in which they were sent, and after an error refuses all that follow until the rollback.
 */

/** The commit of a transaction in which a statement had failed. Nothing was written. */
class Aborted extends Error {
  constructor() {
    super("a statement of the transaction failed, and its error was not passed on");
  }
}

/**
 * Runs work in a transaction of its own connection, and commits it. With any error everything is rolled back.
 *
 * @throws DatabaseAway without a connection, and what the work throws
 */
export async function inTransaction<Result>(
  db: Database,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  const { connect, plugins } = poolOf(db);
  const client = await connect();
  const connection = new TransactionConnection(client);
  connection.begin();
  let broken: unknown;
  try {
    const result = await work(transactionOn(connection, plugins));
    await connection.commit();
    return result;
  } catch (error) {
    broken = await connection.rollback();
    throw refusedSinceRestore(error) ?? error;
  } finally {
    client.release(broken === undefined ? undefined : true);
  }
}

/**
 * Runs reads on one connection, outside of a transaction: those that do not depend on each other are one round trip.
 *
 * @throws DatabaseAway without a connection, and what the work throws
 */
export async function readTogether<Result>(
  db: Database,
  work: (connection: Database) => Promise<Result>,
): Promise<Result> {
  const { connect, plugins } = poolOf(db);
  const client = await connect();
  const connection = new TransactionConnection(client);
  try {
    return await work(kyselyOn(connection, plugins));
  } finally {
    connection.end();
    client.release();
  }
}

/** Sends a statement now, whatever is still unanswered, and returns its rows. */
export async function send<Row>(tx: Tx, query: Compilable<Row> | RawBuilder<Row>): Promise<Row[]> {
  const connection = connectionOf(tx) as TransactionConnection;
  return (await connection.send(query.compile(tx))) as Row[];
}

/**
 * Sends a statement whose answer nobody needs, in the order of the calls. When it fails, the next statement of the
 * transaction that is waited for fails with its error, at the latest the commit.
 *
 * @param explain makes another error of the database's, as a `catch` of a statement that is waited for would
 */
export function sendAhead(
  tx: Tx,
  query: Compilable | RawBuilder<unknown>,
  explain: (error: unknown) => unknown = (error) => error,
): void {
  const connection = connectionOf(tx) as TransactionConnection;
  connection.sendAhead(query.compile(tx), explain);
}

const adapter = new PostgresAdapter();
const compiler = new PostgresQueryCompiler();
/** Nothing connects by it: a transaction has its connection. */
const dialect = new PostgresDialect({
  pool: () => Promise.reject(new Error("a transaction has its connection")),
});

/** Kysely's own transaction sends one statement after the answer of the other. */
function transactionOn(connection: TransactionConnection, plugins: readonly KyselyPlugin[]): Tx {
  const tx = kyselyOn(connection, plugins) as Tx;
  noteConnection(tx, connection);
  return tx;
}

function kyselyOn(connection: TransactionConnection, plugins: readonly KyselyPlugin[]): Database {
  const driver = dialect.createDriver() as never;
  return new Kysely<DB>({
    config: { dialect },
    dialect,
    driver,
    executor: executorOf(connection, plugins),
  });
}

function executorOf(connection: TransactionConnection, plugins: readonly KyselyPlugin[]) {
  const provider = {
    provideConnection: <Result>(use: (connection: DatabaseConnection) => Promise<Result>) => use(connection),
  };
  return new DefaultQueryExecutor(compiler, adapter, provider, [...plugins]);
}

class TransactionConnection implements DatabaseConnection {
  readonly #client: PoolClient;
  /** Until `begin` is answered. */
  #begin: Promise<void> | null = null;
  /** Until everything that waits for that has been sent. */
  #waiting: Promise<void> | null = null;
  readonly #ahead: Promise<void>[] = [];
  /** The first error of a statement that was sent ahead: what follows it is refused for it. */
  #failure: { readonly error: unknown } | null = null;
  /** What is still sent would not be in the transaction, but one of its own, or in the connection's next one. */
  #isOver = false;

  constructor(client: PoolClient) {
    this.#client = client;
  }

  begin(): void {
    this.#begin = this.#client.query("begin").then(
      () => {
        this.#begin = null;
      },
      (error: unknown) => this.#fail(error),
    );
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const { command, rowCount, rows } = await this.#answered(query);
    return changes.has(command) ? { rows, numAffectedRows: BigInt(rowCount ?? 0) } : { rows };
  }

  async send(query: CompiledQuery): Promise<unknown[]> {
    return (await this.#answered(query)).rows;
  }

  sendAhead(query: CompiledQuery, explain: (error: unknown) => unknown): void {
    const settled = this.#sent(query).then(
      () => {},
      (error: unknown) => this.#fail(explain(error)),
    );
    this.#ahead.push(settled);
  }

  async commit(): Promise<void> {
    await this.#begun();
    while (this.#waiting !== null) await this.#waiting;
    this.#isOver = true;
    try {
      const { command } = await this.#client.query("commit");
      if (command === "ROLLBACK") throw new Aborted();
    } catch (error) {
      throw await this.#causeOf(error);
    }
  }

  /** @returns the error with which the connection is of no use any more; undefined when it is as before */
  async rollback(): Promise<unknown> {
    this.#isOver = true;
    try {
      await this.#client.query("rollback");
      return undefined;
    } catch (error) {
      return error;
    }
  }

  end(): void {
    this.#isOver = true;
  }

  // biome-ignore lint/correctness/useYield: Kysely asks for it, and nothing here streams.
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error("a transaction does not stream");
  }

  /**
   * Written to the connection before this returns, unless it waits for `begin`; in the order of the calls in any case.
   */
  #sent({ sql, parameters }: CompiledQuery): Promise<QueryResultOfPg> {
    const write = () => {
      if (this.#isOver) throw new Error("the transaction is over");
      return this.#client.query(sql, parameters as unknown[]);
    };
    if (this.#waiting === null && (this.#begin === null || mayFollowBegin(sql))) return write();
    const written = Promise.resolve(this.#waiting)
      .then(() => this.#begun())
      .then(() => ({ answer: write() }));
    const waiting: Promise<void> = written
      .then(
        () => {},
        () => {},
      )
      .then(() => {
        if (this.#waiting === waiting) this.#waiting = null;
      });
    this.#waiting = waiting;
    return written.then(({ answer }) => answer);
  }

  async #answered(query: CompiledQuery): Promise<QueryResultOfPg> {
    try {
      return await this.#sent(query);
    } catch (error) {
      throw await this.#causeOf(error);
    }
  }

  /** Postgres has answered what was sent before, but the errors of that may still be on their way to here. */
  async #causeOf(error: unknown): Promise<unknown> {
    await Promise.all(this.#ahead);
    return this.#failure?.error ?? error;
  }

  async #begun(): Promise<void> {
    if (this.#begin !== null) await this.#begin;
    if (this.#begin !== null && this.#failure !== null) throw this.#failure.error;
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
  }
}

/**
 * Should `begin` fail, what was sent behind it would be a transaction of its own: a read does no harm there. The
 * setting of row-level security is one as well, it would end with its statement.
 */
function mayFollowBegin(sql: string): boolean {
  return sql.trimStart().startsWith("select");
}

type QueryResultOfPg = Pick<PgResult, "command" | "rowCount" | "rows">;

const changes: ReadonlySet<string> = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);
