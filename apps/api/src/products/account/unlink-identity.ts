import type { ApiRequest } from "../../platform/api-request.ts";
import { NotFound } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { noContent, type Reply } from "../../platform/reply.ts";
import { type IdentityRow, requireOtherSignInMethod } from "./identity-store.ts";
import { personOf } from "./person.ts";
import { requireProof } from "./proof.ts";
import { revokeSessionsOfUser } from "./session-store.ts";

/**
 * From now on it opens no session. Sessions that it has opened end, except the one that makes the request.
 */
export async function unlinkIdentity(
  request: ApiRequest<"unlinkIdentity">,
  identity: IdentityRow,
): Promise<Reply> {
  const { id: userId, sessionId } = personOf(request);
  const answer = await mutation(
    request,
    async (tx) => {
      await requireProof(request, tx);
      await requireOtherSignInMethod(request.deps, tx, userId, { identity: identity.id });
      const revoked = await revokeSessionsOfUser(tx, userId, sessionId, identity.id);
      const gone = await tx
        .deleteFrom("user_identity")
        .where("id", "=", identity.id)
        .where("user_id", "=", userId)
        .returning("id")
        .execute();
      if (gone.length === 0) throw new NotFound();
      return {
        reply: noContent(),
        resource: identity.id,
        details: { issuer: identity.issuer, sessions_revoked: revoked },
      };
    },
    { evenIfSuspended: true },
  );
  request.deps.tokens.dropCallers();
  return answer;
}
