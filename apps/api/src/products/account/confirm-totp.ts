import { alreadyEnrolled, notEnrolled } from "@kule/rules/refusals";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import { Conflict, fieldError, Invalid } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { beginAttempt } from "./login-limit.ts";
import { personOf } from "./person.ts";
import { requireProof } from "./proof.ts";
import {
  findSecondFactors,
  hasSecondFactor,
  lockTotp,
  replaceRecoveryCodesOf,
} from "./second-factor-store.ts";
import { periodOfCode, vaultOf } from "./totp.ts";

/** The app shows codes of our secret: from now on a sign-in requires one. */
export async function confirmTotp(request: ApiRequest<"confirmTotp">): Promise<Reply> {
  const { id } = personOf(request);
  const attempt = await beginAttempt(request, `second factor ${id}`, id);
  const answer = await mutation(
    request,
    async (tx) => {
      await requireProof(request, tx);
      const isFirst = !hasSecondFactor(await findSecondFactors(tx, id));
      const row = await lockTotp(tx, id);
      if (row === null || (row.confirmed_at === null && !row.is_fresh))
        throw new Conflict(
          notEnrolled("authenticator_app_begun", "nothing is being set up", {
            fix: "POST /me/totp",
          }),
        );
      if (row.confirmed_at !== null)
        throw new Conflict(
          alreadyEnrolled("no_authenticator_app", "there is an authenticator app already", {
            fix: "DELETE /me/totp",
          }),
        );
      const period = periodOfCode(vaultOf(request.deps), id, row, request.body.code);
      if (period === null)
        throw new Invalid([fieldError("/code", "incorrect", "is not what the app should show now")]);
      await tx
        .updateTable("user_totp")
        .set({ confirmed_at: sql<Date>`clock_timestamp()`, last_period: period })
        .where("user_id", "=", id)
        .execute();
      const codes = isFirst ? await replaceRecoveryCodesOf(tx, id) : null;
      return {
        reply: reply(200, { recovery_codes: codes }),
        resource: id,
        secretFields: ["recovery_codes"],
      };
    },
    { evenIfSuspended: true },
  );
  await attempt.succeeded();
  return answer;
}
