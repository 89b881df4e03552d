import { sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { RateLimited } from "../../platform/errors.ts";

const windowSeconds = 900;
const maxFailures = 10;

export type LoginAttempt = {
  /** The attempt was right: it was no failure, and the e-mail's earlier ones are forgiven. */
  succeeded(): Promise<void>;
};

/**
 * Notes an attempt as failed before the password is looked at. Attempts on one e-mail or from one address go one
 * after the other here, so guesses made at the same time, at whichever replica, count like any others.
 *
 * @throws RateLimited after ten failures in a quarter of an hour for this e-mail or this address
 */
export function beginLogin(db: Database, email: string, address: string | null): Promise<LoginAttempt> {
  return beginAttempt(db, `email ${email.toLowerCase()}`, address);
}

/**
 * The same for whatever can be guessed.
 *
 * @param subject what is being guessed, such as `second factor usr_…`
 */
export async function beginAttempt(
  db: Database,
  subject: string,
  address: string | null,
): Promise<LoginAttempt> {
  // In one order everywhere, so that two attempts cannot wait for each other.
  const subjects = address === null ? [subject] : [`address ${address}`, subject];
  const noted = await db.transaction().execute(async (tx) => {
    for (const each of subjects)
      await sql`select pg_advisory_xact_lock(hashtextextended(${`login ${each}`}, 0))`.execute(tx);
    const over = (await countFailures(tx, subjects)).filter((count) => count.failures >= maxFailures);
    if (over.length > 0)
      throw new RateLimited(
        Math.max(...over.map((count) => count.frees_in_seconds)),
        "too many failed logins; wait before trying again",
      );
    return tx
      .insertInto("login_failure")
      .values(subjects.map((each) => ({ subject: each, at: sql<Date>`clock_timestamp()` })))
      .returning(["subject", sql<string>`at::text`.as("at")])
      .execute();
  });
  return {
    async succeeded() {
      await forget(db, noted);
      await db.deleteFrom("login_failure").where("subject", "=", subject).execute();
    },
  };
}

function countFailures(tx: Tx, subjects: readonly string[]) {
  const freesIn = sql<number>`
    extract(epoch from min(at) + make_interval(secs => ${windowSeconds}) - clock_timestamp())::float8`;
  return tx
    .selectFrom("login_failure")
    .select(["subject", sql<number>`count(*)::integer`.as("failures"), freesIn.as("frees_in_seconds")])
    .where("subject", "in", [...subjects])
    .where("at", ">", sql<Date>`clock_timestamp() - make_interval(secs => ${windowSeconds})`)
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
