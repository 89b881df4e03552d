import type { SystemAuditAction } from "@kule/contract/system-audit";
import type { JobHelpers } from "graphile-worker";
import { systemQuery } from "../platform/database.ts";
import type { Deps } from "../platform/deps.ts";
import { newId } from "../platform/ids.ts";
import {
  beginMailedReset,
  findForResetMail,
  type ResetMailTask,
  resetMail,
} from "../products/account/index.ts";
import type { Mailer } from "./mailer.ts";

type Work = Pick<Deps, "db" | "log" | "settings">;

/**
 * Sends the link for a lost password, if there is such an account. The secret is created and stored, as its
 * hash, before it is sent: a retry after a failure creates another one, which ends the one before. So the
 * last mail that arrives is the one whose link works, and no secret is stored in the queue.
 *
 * @throws when the mail may be accepted later
 */
export async function mailPasswordReset(
  { db, log, settings }: Work,
  mailer: Mailer | null,
  { email: asked, language }: ResetMailTask,
  { withPgClient, abortSignal: signal }: Pick<JobHelpers, "withPgClient" | "abortSignal">,
): Promise<void> {
  const account = await findForResetMail(db, asked);
  if (account === null) return;
  const { id: userId, email } = account;
  const [panelUrl] = settings.consoleOrigins;
  if (mailer === null || panelUrl === undefined)
    throw new Error("a mail waits for a mail server: set KULE_MAIL_FILE for the worker too");
  const { secret, expiresAt } = await withPgClient((worker) => beginMailedReset(worker, userId));
  const refusal = await mailer.send(
    { to: email, ...resetMail(language, { panelUrl, secret, expiresAt }) },
    signal,
  );
  if (refusal !== null) log.warn({ user: userId, refusal }, "the mail server refuses a recipient");
  else log.info({ user: userId }, "mailed a link for a lost password");
  await systemQuery(db, "an account is of the installation")
    .insertInto("audit")
    .values({
      id: newId("aud"),
      organisation_id: null,
      region: null,
      actor_type: "system",
      actor_id: null,
      actor_name: "mail",
      action: "password.mail_reset" satisfies SystemAuditAction,
      resource: userId,
      outcome: refusal === null ? "succeeded" : "failed",
      http_status: 200,
      code: null,
      request_id: newId("req"),
      source_address: null,
      details: JSON.stringify({ email, language }),
    })
    .execute();
}
