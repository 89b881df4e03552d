import pg from "pg";

/** An address that should lead to the primary led to a standby. */
class StandbyInstead extends Error {
  constructor() {
    super("this Postgres is a standby, which takes no writes");
  }
}

/** What pg emits of the protocol and its types do not name. */
type Wire = {
  on(
    event: "parameterStatus",
    told: (message: { parameterName: string; parameterValue: string }) => void,
  ): void;
  on(event: "errorMessage", told: (message: { code?: string }) => void): void;
  readonly stream: { destroy(error: Error): void };
};

/** read_only_sql_transaction: a write on a standby, or where writes are switched off. */
const readOnly = "25006";

/**
 * A connection to the Postgres that takes writes. After a failover an address can lead to a standby for a moment: such a
 * connection is refused when it opens, as libpq's `target_session_attrs=primary` does, since its reads would be
 * old and its writes fail. One that takes no writes any more is closed, so that its pool opens another.
 */
export class PrimaryClient extends pg.Client {
  #isStandby = false;

  constructor(config?: string | pg.ClientConfig) {
    super(config);
    this.wire.on("parameterStatus", ({ parameterName, parameterValue }) => {
      if (parameterName === "in_hot_standby") this.#isStandby = parameterValue === "on";
    });
    this.wire.on("errorMessage", ({ code }) => {
      if (code === readOnly) void this.end();
    });
  }

  protected get wire(): Wire {
    return (this as unknown as { readonly connection: Wire }).connection;
  }

  // biome-ignore lint/suspicious/noExplicitAny: the overloads of pg cannot be restated; pools call it with a callback.
  override connect(callback?: any): any {
    const opened = this.#open();
    if (callback === undefined) return opened;
    opened.then(() => callback(null, this), callback);
  }

  async #open(): Promise<this> {
    await super.connect();
    if (!this.#isStandby) return this;
    await this.end();
    throw new StandbyInstead();
  }
}

/** True for an error of a statement that only the primary could have done. */
export function isOfReadOnly(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === readOnly;
}

/** A pool of connections to the primary. Those that break are reported, whether they are in use or not. */
export function primaryPool(config: pg.PoolConfig, onError: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool({
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    ...config,
    Client: PrimaryClient,
  });
  pool.on("error", onError);
  pool.on("connect", (client) => client.on("error", onError));
  return pool;
}
