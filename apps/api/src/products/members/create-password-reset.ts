import type { ApiRequest } from "../../platform/api-request.ts";
import { Unauthorized } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import {
  beginPasswordReset,
  lockPerson,
  requireProof,
  sessionProof,
  userOfSession,
} from "../account/index.ts";
import type { MemberRow } from "./store.ts";

/**
 * For who has lost the password. An operator's alone: the account is the person's in all of their organisations, so an
 * owner of one of them would reach into the others.
 */
export async function createPasswordReset(
  request: ApiRequest<"createPasswordReset">,
  member: MemberRow,
): Promise<Reply> {
  userOfSession(request);
  return mutation(
    request,
    async (tx) => {
      await requireProof(request, tx);
      await lockPerson(tx, member.user_id);
      const begun = await beginPasswordReset(tx, sessionProof(request), member.user_id);
      // Ended, or no operator's any more, since the request began.
      if (begun === null) throw new Unauthorized("the token is unknown, expired or revoked");
      const { secret, expiresAt } = begun;
      return {
        reply: reply(201, { secret, expires_at: expiresAt.toISOString() }),
        resource: member.id,
        details: { user: member.user_id },
        secretFields: ["secret"],
      };
    },
    { evenIfSuspended: true },
  );
}
