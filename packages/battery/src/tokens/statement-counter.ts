import pg from "pg";

export type StatementCounter = {
  /** Statements that fit since the last call of this. */
  taken(): number;
  stop(): void;
};

/** Counts the statements that this process sends to Postgres, from any caller. */
export function countStatements(fits: RegExp): StatementCounter {
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of pg cannot be restated
  const prototype = pg.Client.prototype as { query: (...args: any[]) => unknown };
  const original = prototype.query;
  let count = 0;
  prototype.query = function query(...args: unknown[]) {
    const [first] = args;
    const text = typeof first === "string" ? first : ((first as { text?: string } | null)?.text ?? "");
    if (fits.test(text)) count += 1;
    return original.apply(this, args);
  };
  return {
    taken() {
      const taken = count;
      count = 0;
      return taken;
    },
    stop() {
      prototype.query = original;
    },
  };
}
