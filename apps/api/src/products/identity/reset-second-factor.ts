import { notEnrolled } from "@kule/rules/refusals";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import { Conflict } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { noContent, type Reply } from "../../platform/reply.ts";
import { requireAnotherWayIn } from "./identity-store.ts";
import type { MemberRow } from "./member-store.ts";
import { lockPerson } from "./person.ts";
import { requireProof } from "./proof.ts";
import { deleteRecoveryCodes, findSecondFactors, hasSecondFactor } from "./second-factor-store.ts";
import { userOfSession } from "./session-only.ts";
import { revokeSessionsOfUser } from "./session-store.ts";
import { endSignInsOfUser } from "./sign-in-store.ts";

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
      await requireAnotherWayIn(request.deps, tx, userId, { passkey: "all" });
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
  request.deps.tokens.forgetCallers();
  return answer;
}
