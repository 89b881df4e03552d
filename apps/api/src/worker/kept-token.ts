import { sql } from "kysely";
import { systemQuery } from "../platform/database.ts";
import type { Deps } from "../platform/deps.ts";
import type { MintedToken } from "../platform/tokens.ts";

/** The token of a killed worker expires after this. */
const lifetimeSeconds = 600;
const renewEveryMs = 60_000;

export type KeptToken = {
  /** Resolves once the token can be used, or with the signal. */
  readonly begun: Promise<void>;
  /** Revokes it. */
  end(): Promise<void>;
};

/**
 * Keeps an agent's token valid for as long as this process works for the region: written at the start,
 * renewed every minute, revoked at the end. An ordinary token, so that calls in this process and the
 * consoles' connections to the API are checked like any agent's.
 */
export function keepToken(
  { db, log }: Pick<Deps, "db" | "log">,
  token: MintedToken,
  { region, name }: { readonly region: string; readonly name: string },
  stop: AbortSignal,
): KeptToken {
  const tokens = systemQuery(db, "a worker keeps its own token of a region");
  const expires = sql<Date>`clock_timestamp() + make_interval(secs => ${lifetimeSeconds})`;
  const write = () =>
    tokens
      .insertInto("token")
      .values({
        id: token.id,
        kind: "agent",
        region,
        name: `worker ${name}`.slice(0, 100),
        secret_hash: token.hash,
        lifetime_seconds: lifetimeSeconds,
        expires_at: expires,
      })
      .onConflict((conflict) => conflict.column("id").doUpdateSet({ expires_at: expires }))
      .execute()
      .then(
        () => true,
        (error: unknown) => {
          log.warn({ err: error, region }, "the worker's token of a region could not be renewed");
          return false;
        },
      );
  const begun = (async () => {
    while (!stop.aborted && !(await write())) await new Promise((later) => setTimeout(later, 1_000));
  })();
  const timer = setInterval(() => void write(), renewEveryMs);
  return {
    begun,
    async end() {
      clearInterval(timer);
      await tokens
        .updateTable("token")
        .set({ revoked_at: sql<Date>`clock_timestamp()` })
        .where("id", "=", token.id)
        .execute()
        .catch((error: unknown) => log.debug({ err: error }, "the worker's token ends by itself"));
    },
  };
}
