import { notConfigured } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import { Conflict } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { countResetRequest, queueResetMail } from "../account/index.ts";

/**
 * Mails a link to reset a forgotten password. Whether there is such an account is not checked here, so
 * neither the answer nor its time reveals it: the worker checks when it sends.
 */
export async function requestPasswordReset(request: ApiRequest<"requestPasswordReset">): Promise<Reply> {
  const { email, language = "en" } = request.body;
  if (request.deps.settings.mailFile === null)
    throw new Conflict(
      notConfigured("installation_sends_mail", "no mail is sent here", {
        fix: "ask the operator of this installation for a link, who may also set KULE_MAIL_FILE",
      }),
    );
  await countResetRequest(request, email);
  return mutation(request, async (tx) => {
    await queueResetMail(tx, email, language);
    return { reply: reply(202, null), resource: null };
  });
}
