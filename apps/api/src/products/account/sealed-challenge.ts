import { createHash } from "node:crypto";
import { sql } from "kysely";
import type { Vault } from "../../platform/at-rest.ts";
import type { Database, Tx } from "../../platform/database.ts";

/*
 * A challenge is sealed and given to the client, which returns it, so that creating one writes nothing:
 * beginning sign-ins cannot fill the database. That it was answered is stored, and Postgres' clock decides
 * when it is late.
 */

const defaultLifetimeMs = 300_000;

type Sealed = { readonly issuedMs: number; readonly value: unknown };

/** @param purpose for what and for whom; it is valid for nothing else */
export async function sealChallenge(
  db: Database,
  vault: Vault,
  purpose: string,
  value: unknown,
): Promise<string> {
  const sealed: Sealed = { issuedMs: await databaseNowMs(db), value };
  return vault.seal(placeOf(purpose), JSON.stringify(sealed));
}

/**
 * What was sealed; null when it was not sealed for this purpose, or not within the last five minutes (or
 * `lifetimeMs`).
 */
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
    // Whatever is wrong with it, it is invalid.
    return null;
  }
  return (await databaseNowMs(db)) - sealed.issuedMs <= lifetimeMs ? sealed.value : null;
}

/**
 * Marks it as used, in the transaction of the change that it permits. False when it was used before. It is
 * identified by what was sealed and not by the returned text: base64 has many spellings of the same bytes.
 *
 * @param challenge the random value that `openChallenge` returned
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
