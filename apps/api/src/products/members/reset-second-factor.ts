import { notEnrolled } from "@kule/rules/refusals";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import { Conflict } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { noContent, type Reply } from "../../platform/reply.ts";
import {
  deleteRecoveryCodes,
  endSignInsOfUser,
  findSecondFactors,
  hasSecondFactor,
  lockPerson,
  requireOtherSignInMethod,
  requireProof,
  revokeSessionsOfUser,
  userOfSession,
} from "../account/index.ts";
import type { MemberRow } from "./store.ts";

/**
 * For who has lost their device and their codes. An operator's alone: the account is the person's in all of their
 * organisations, so an owner of one of them would reach into the others.
 */
export async function resetSecondFactor(
  request: ApiRequest<"resetSecondFactor">,
  member: MemberRow,
): Promise<Reply> {
  userOfSession(request);
  const userId = member.user_id;
  const answer = await mutation(
    request,
    async (tx) => {
      await requireProof(request, tx);
      await lockPerson(tx, userId);
      const factors = await findSecondFactors(tx, userId);
      if (!hasSecondFactor(factors))
        throw new Conflict(
          notEnrolled("second_factor", "the person has no second factor", {
            resource: member.id,
          }),
        );
      await requireOtherSignInMethod(request.deps, tx, userId, { passkey: "all" });
      await tx.deleteFrom("user_totp").where("user_id", "=", userId).execute();
      await tx.deleteFrom("passkey").where("user_id", "=", userId).execute();
      await deleteRecoveryCodes(tx, userId);
      await endSignInsOfUser(tx, userId);
      await tx
        .updateTable("app_user")
        .set({ second_factor_reset_at: sql<Date>`clock_timestamp()` })
        .where("id", "=", userId)
        .execute();
      const revoked = await revokeSessionsOfUser(tx, userId, null);
      return {
        reply: noContent(),
        resource: member.id,
        details: {
          user: userId,
          authenticator_app: factors.totpConfirmedAt !== null,
          passkeys: factors.passkeys,
          sessions_revoked: revoked,
        },
      };
    },
    { evenIfSuspended: true },
  );
  request.deps.tokens.dropCallers();
  return answer;
}
