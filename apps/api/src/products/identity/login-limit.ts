import { sql } from "kysely";
import type { Database } from "../../platform/database.ts";
import { RateLimited } from "../../platform/errors.ts";

const windowSeconds = 900;
const maxFailures = 10;

export type LoginAttempt = {
  /** The attempt was right: it was no failure, and the e-mail's earlier ones are forgiven. */
  succeeded(): Promise<void>;
};

/**
 * Notes an attempt as failed before the password is looked at, so that guesses made at the same time, here or at
 * another replica, count like those made one after the other.
 *
 * @throws RateLimited after ten failures in a quarter of an hour for this e-mail or this address
 */
export async function beginLogin(db: Database, email: string, address: string | null): Promise<LoginAttempt> {
  const byEmail = `email ${email.toLowerCase()}`;
  const subjects = address === null ? [byEmail] : [byEmail, `address ${address}`];
  const noted = await db
    .insertInto("login_failure")
    .values(subjects.map((subject) => ({ subject, at: sql<Date>`clock_timestamp()` })))
    .returning(["subject", sql<string>`at::text`.as("at")])
    .execute();
  const counts = await db
    .selectFrom("login_failure")
    .select([
      "subject",
      sql<number>`count(*)::integer`.as("failures"),
      sql<number>`extract(epoch from min(at) + make_interval(secs => ${windowSeconds}) - clock_timestamp())::float8`.as(
        "frees_in_seconds",
      ),
    ])
    .where("subject", "in", subjects)
    .where("at", ">", sql<Date>`clock_timestamp() - make_interval(secs => ${windowSeconds})`)
    .groupBy("subject")
    .execute();
  const over = counts.filter((count) => count.failures > maxFailures);
  if (over.length > 0) {
    // Only tries that were looked at count, or waiting would never end for whoever keeps trying.
    await forget(db, noted);
    throw new RateLimited(
      Math.max(...over.map((count) => count.frees_in_seconds)),
      "too many failed logins; wait before trying again",
    );
  }
  return {
    async succeeded() {
      await forget(db, noted);
      await db.deleteFrom("login_failure").where("subject", "=", byEmail).execute();
    },
  };
}

async function forget(db: Database, noted: readonly { subject: string; at: string }[]): Promise<void> {
  for (const { subject, at } of noted)
    await db
      .deleteFrom("login_failure")
      .where("subject", "=", subject)
      .where("at", "=", sql<Date>`${at}::timestamptz`)
      .execute();
}
