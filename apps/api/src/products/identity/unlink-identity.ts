import type { ApiRequest } from "../../platform/api-request.ts";
import { NotFound } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { noContent, type Reply } from "../../platform/reply.ts";
import { type IdentityRow, requireAnotherWayIn } from "./identity-store.ts";
import { personOf } from "./person.ts";
import { requireProof } from "./proof.ts";
import { revokeSessionsOfUser } from "./session-store.ts";

/** It opens nothing from now on. What it has opened ends, but for the session that asks. */
export async function unlinkIdentity(
  request: ApiRequest<"unlinkIdentity">,
  identity: IdentityRow,
): Promise<Reply> {
  const { id: userId, sessionId } = personOf(request);
  const answer = await mutation(
    request,
    async (tx) => {
      await requireProof(request, tx);
      await requireAnotherWayIn(request.deps, tx, userId, { identity: identity.id });
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
  request.deps.tokens.forgetCallers();
  return answer;
}
