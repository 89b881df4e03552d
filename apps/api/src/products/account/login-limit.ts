import { sql } from "kysely";
import { networkOf } from "../../platform/address-network.ts";
import type { ApiRequest } from "../../platform/api-request.ts";
import { type Database, systemQuery, type Tx } from "../../platform/database.ts";
import { RateLimited } from "../../platform/errors.ts";
import { inTransaction } from "../../platform/transaction.ts";

const windowSeconds = 900;
const maxFailures = 10;
/** Mails to one e-mail, and from one address, in an hour. */
const resetWindowSeconds = 3600;
const maxResets = { email: 3, address: 20 };
const knownForDays = 30;

export type LoginAttempt = {
  /** The attempt was right: it was no failure, and earlier ones that stood in its way are forgiven. */
  succeeded(): Promise<void>;
};

/**
 * Counts an attempt as failed before the password is checked. Attempts on one e-mail or from one address run
 * one after the other here, so concurrent guesses, at any replica, count like any others.
 *
 * @param userId whose e-mail it is; null when no user has it
 * @throws RateLimited after ten failures in a quarter of an hour for this e-mail or this address
 */
export function beginLogin(request: ApiRequest, email: string, userId: string | null): Promise<LoginAttempt> {
  return beginAttempt(request, `email ${email.toLowerCase()}`, userId);
}

/**
 * The same for anything that can be guessed. From an address where the person has signed in recently, only
 * that address' own failures count: otherwise a stranger could lock them out by guessing wrong for as long as
 * they like.
 *
 * @param subject what is being guessed, such as `second factor usr_…`
 */
export async function beginAttempt(
  { db, sourceAddress: address }: ApiRequest,
  subject: string,
  userId: string | null,
): Promise<LoginAttempt> {
  const byAddress = address === null ? null : `address ${networkOf(address)}`;
  // Also queried for an unknown e-mail, so that both take the same time.
  const isKnown = address !== null && (await hasSignedInFrom(db, userId ?? "", address));
  // In one order everywhere, so that two attempts cannot wait for each other.
  const subjects = byAddress === null ? [subject] : [byAddress, subject];
  const noted = await note(db, subjects, {
    windowSeconds,
    isOver: (count) => count.failures >= maxFailures && !(isKnown && count.subject === subject),
    refusal: "too many failed logins; wait before trying again",
  });
  return {
    async succeeded() {
      await forget(db, noted);
      // Where other people's guesses do not count, there is no reason to reset them.
      if (isKnown) return;
      await db.deleteFrom("login_failure").where("subject", "=", subject).execute();
    },
  };
}

/**
 * Counts a request for a mail with a link, whether or not the e-mail has an account, so that a mailbox cannot
 * be flooded.
 *
 * @throws RateLimited after three in an hour for this e-mail, or twenty from this address
 */
export async function countResetRequest(
  { db, sourceAddress: address }: ApiRequest,
  email: string,
): Promise<void> {
  const byEmail = `reset of ${email.toLowerCase()}`;
  const subjects = address === null ? [byEmail] : [`resets from ${networkOf(address)}`, byEmail];
  await note(db, subjects, {
    windowSeconds: resetWindowSeconds,
    isOver: ({ subject, failures }) =>
      failures >= (subject === byEmail ? maxResets.email : maxResets.address),
    refusal: "too many links were asked for; look into the mailbox, or wait before asking again",
  });
}

type Count = { readonly subject: string; readonly failures: number; readonly frees_in_seconds: number };
type Bound = {
  readonly windowSeconds: number;
  readonly isOver: (count: Count) => boolean;
  readonly refusal: string;
};

/** Counts one more of each subject, unless one of them has had its share: one after the other, at whichever replica. */
function note(db: Database, subjects: readonly string[], { windowSeconds: window, isOver, refusal }: Bound) {
  return inTransaction(db, async (tx) => {
    for (const each of subjects)
      await sql`select pg_advisory_xact_lock(hashtextextended(${`login ${each}`}, 0))`.execute(tx);
    const over = (await countFailures(tx, subjects, window)).filter(isOver);
    if (over.length > 0)
      throw new RateLimited(Math.max(...over.map((count) => count.frees_in_seconds)), refusal);
    return tx
      .insertInto("login_failure")
      .values(subjects.map((each) => ({ subject: each, at: sql<Date>`clock_timestamp()` })))
      .returning(["subject", sql<string>`at::text`.as("at")])
      .execute();
  });
}

async function hasSignedInFrom(db: Database, userId: string, address: string): Promise<boolean> {
  const rows = await systemQuery(db, "a person's sessions are of all of their organisations")
    .selectFrom("token")
    .select("source_address")
    .distinct()
    .where("user_id", "=", userId)
    .where("kind", "=", "session")
    .where("source_address", "is not", null)
    .where("created_at", ">", sql<Date>`clock_timestamp() - make_interval(days => ${knownForDays})`)
    .execute();
  const network = networkOf(address);
  return rows.some((row) => row.source_address !== null && networkOf(row.source_address) === network);
}

function countFailures(tx: Tx, subjects: readonly string[], window: number): Promise<Count[]> {
  const freesIn = sql<number>`
    extract(epoch from min(at) + make_interval(secs => ${window}) - clock_timestamp())::float8`;
  return tx
    .selectFrom("login_failure")
    .select(["subject", sql<number>`count(*)::integer`.as("failures"), freesIn.as("frees_in_seconds")])
    .where("subject", "in", [...subjects])
    .where("at", ">", sql<Date>`clock_timestamp() - make_interval(secs => ${window})`)
    .groupBy("subject")
    .execute();
}

async function forget(db: Database, noted: readonly { subject: string; at: string }[]): Promise<void> {
  for (const { subject, at } of noted)
    await db
      .deleteFrom("login_failure")
      .where("subject", "=", subject)
      .where("at", "=", sql<Date>`${at}::timestamptz`)
      .execute();
}
