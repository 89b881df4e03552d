import pg from "pg";

/**
 * What an operation costs between the API and Postgres, without what is not its own: the notices to waiting clients,
 * which are sent beside it, and the look-up of a caller's token, which is cached.
 */
export type WireCosts = { readonly roundTrips: number; readonly statements: number };

const isBeside = (text: string) => text.includes("pg_notify(channel") || text.includes('from "token"');

/**
 * Counts the statements that this process sends while the work runs, and how often it waits: what is sent while an
 * answer on the same connection is outstanding is in the same round trip.
 */
export async function wireCostsOf(work: () => Promise<unknown>): Promise<WireCosts> {
  const original = pg.Client.prototype.query;
  const outstanding = new WeakMap<pg.Client, number>();
  let roundTrips = 0;
  let statements = 0;
  // biome-ignore lint/suspicious/noExplicitAny: pg's overloads cannot be restated
  pg.Client.prototype.query = function counted(this: pg.Client, ...args: any[]): any {
    const answer = (original as (...all: unknown[]) => unknown).apply(this, args);
    const text = String(typeof args[0] === "object" ? args[0].text : args[0]);
    if (!(answer instanceof Promise) || isBeside(text)) return answer;
    const before = outstanding.get(this) ?? 0;
    outstanding.set(this, before + 1);
    statements += 1;
    if (before === 0) roundTrips += 1;
    const answered = () => outstanding.set(this, (outstanding.get(this) ?? 1) - 1);
    answer.then(answered, answered);
    return answer;
  } as typeof original;
  try {
    await work();
  } finally {
    pg.Client.prototype.query = original;
  }
  return { roundTrips, statements };
}
