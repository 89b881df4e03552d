import { createHash } from "node:crypto";
import { sql } from "kysely";
import type { Vault } from "../../platform/at-rest.ts";
import type { Database, Tx } from "../../platform/database.ts";

/*
 * What somebody has to answer is sealed and given to them to bring back, so that asking for it writes nothing: nobody
 * can fill the database by beginning sign-ins. That it was answered is kept, and Postgres' clock says when it is late.
 */

const defaultLifetimeMs = 300_000;

type Sealed = { readonly issuedMs: number; readonly value: unknown };

/** @param purpose for what and for whom; it opens for nothing else */
export async function sealChallenge(
  db: Database,
  vault: Vault,
  purpose: string,
  value: unknown,
): Promise<string> {
  const sealed: Sealed = { issuedMs: await databaseNowMs(db), value };
  return vault.seal(placeOf(purpose), JSON.stringify(sealed));
}

/** What was sealed; null when it was not sealed for this, or not within the last five minutes (or `lifetimeMs`). */
export async function openChallenge(
  db: Database,
  vault: Vault,
  purpose: string,
  text: string,
  lifetimeMs = defaultLifetimeMs,
): Promise<unknown> {
  let sealed: Sealed;
  try {
    sealed = JSON.parse(vault.open(placeOf(purpose), text)) as Sealed;
  } catch {
    // Whatever is wrong with it, it opens nothing.
    return null;
  }
  return (await databaseNowMs(db)) - sealed.issuedMs <= lifetimeMs ? sealed.value : null;
}

/**
 * Uses it up, in the transaction of what it opens. False when that has happened before. It is known by what was sealed
 * and not by the text that was brought back: base64 can be written in many ways that all open.
 *
 * @param challenge the random value that `openChallenge` answered
 */
export async function spendChallenge(tx: Database | Tx, challenge: string): Promise<boolean> {
  const spent = await tx
    .insertInto("spent_challenge")
    .values({ hash: createHash("sha256").update(challenge).digest() })
    .onConflict((on) => on.column("hash").doNothing())
    .returning("at")
    .execute();
  return spent.length === 1;
}

/** Postgres' time, which decides what is late. */
export async function databaseNowMs(db: Database): Promise<number> {
  const { rows } = await sql<{ now: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`.execute(db);
  return rows[0]?.now ?? Number.NaN;
}

const placeOf = (purpose: string) => `challenge ${purpose}`;
