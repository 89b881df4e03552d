import { sql } from "kysely";
import type { ClientBase } from "pg";
import type { Database, Tx } from "../../platform/database.ts";
import { newIdBody } from "../../platform/ids.ts";
import { hasChecksum, hashToken, mintSecret } from "../../platform/tokens.ts";
import type { PersonProof } from "./person-proof.ts";

/*
 * kule_pwr_<26 characters of id>_<32 random base62 characters><6 base62 characters of CRC32>: the format of
 * tokens, but not a token: it sets one password, once.
 */
const pattern = /^kule_pwr_([0-7][0-9a-hjkmnp-tv-z]{25})_[0-9A-Za-z]{38}$/;
const lifetimeSeconds = 3600;

export type BegunReset = { readonly secret: string; readonly expiresAt: Date };

/**
 * Creates the secret that sets the person's password once, and ends the previous one.
 *
 * @returns null when Postgres does not accept the proof for an operator's session
 */
export async function beginPasswordReset(
  tx: Tx,
  operator: PersonProof,
  userId: string,
): Promise<BegunReset | null> {
  const id = newIdBody();
  const { secret, hash } = mintSecret("pwr", id);
  const { rows } = await sql<{ ends: Date | null }>`
    select kule_begin_password_reset(${JSON.stringify(operator)}::jsonb, ${userId}, ${id}, ${hash},
      ${lifetimeSeconds}::integer) as ends`.execute(tx);
  const ends = rows[0]?.ends ?? null;
  return ends === null ? null : { secret, expiresAt: ends };
}

/**
 * The same for the worker, which mails the secret to the person's own e-mail and needs no operator's session: the API's role
 * may not call this.
 *
 * @param worker a connection with the worker's rights
 */
export async function beginMailedReset(
  worker: Pick<ClientBase, "query">,
  userId: string,
): Promise<BegunReset> {
  const id = newIdBody();
  const { secret, hash } = mintSecret("pwr", id);
  const { rows } = await worker.query<{ ends: Date }>(
    "select kule_keep_password_reset($1, $2, $3, $4::integer) as ends",
    [userId, id, hash, lifetimeSeconds],
  );
  const ends = rows[0]?.ends;
  if (ends === undefined) throw new Error("a reset of a password has no end");
  return { secret, expiresAt: ends };
}

/** The user whose password the secret sets, or null when it is invalid for any reason. */
export async function findPasswordReset(db: Database, secret: string): Promise<string | null> {
  const id = idOf(secret);
  if (id === null) return null;
  const row = await db
    .selectFrom("password_reset")
    .select("user_id")
    .where("id", "=", id)
    .where("secret_hash", "=", hashToken(secret))
    .where("expires_at", ">", sql<Date>`clock_timestamp()`)
    .executeTakeFirst();
  return row?.user_id ?? null;
}

/** Sets one password; that uses it up. */
export function resetProof(secret: string): PersonProof {
  return { by: "reset", id: idOf(secret) ?? "", secret };
}

/**
 * The user whose password a mailed link sets; null without such an account, and for an account without a
 * password: a mailbox must not bypass the passkeys or the provider that a person signs in with. The mail goes
 * to the account's own e-mail: the requested one may differ in the case of letters, which can be another
 * mailbox.
 */
export async function findForResetMail(
  db: Database,
  email: string,
): Promise<{ readonly id: string; readonly email: string } | null> {
  const row = await db
    .selectFrom("app_user")
    .select(["id", "email"])
    .where("email_key", "=", sql<string>`lower(${email}::text)`)
    .where("has_password", "=", true)
    .executeTakeFirst();
  return row ?? null;
}

/** The languages of the mail. */
export type MailLanguage = "en" | "tr";

/** The payload of the worker's task. Never a secret: that is created when the mail is sent. */
export type ResetMailTask = { readonly email: string; readonly language: MailLanguage };

/**
 * Queues a mail with a link, if there is such an account. One that is still queued for the same account is
 * replaced.
 */
export async function queueResetMail(tx: Tx, email: string, language: MailLanguage): Promise<void> {
  const task: ResetMailTask = { email, language };
  await sql`select kule_mail_add('mail_password_reset', ${JSON.stringify(task)}::json, 'password-reset:' || lower(${email}::text))`.execute(
    tx,
  );
}

function idOf(secret: string): string | null {
  const id = pattern.exec(secret)?.[1];
  return id === undefined || !hasChecksum(secret) ? null : id;
}
