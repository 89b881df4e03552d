import type { ApiRequest } from "../../platform/api-request.ts";
import { mutation } from "../../platform/mutation.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { personOf } from "./person.ts";
import { revokeSessionsOfUser } from "./session-store.ts";

/** Signs the person out everywhere but here. */
export async function revokeOtherSessions(request: ApiRequest<"revokeOtherSessions">): Promise<Reply> {
  const { id, sessionId } = personOf(request);
  const answer = await mutation(
    request,
    async (tx) => {
      const revoked = await revokeSessionsOfUser(tx, id, sessionId);
      return { reply: reply(200, { revoked }), resource: id, details: { revoked } };
    },
    { evenIfSuspended: true },
  );
  request.deps.tokens.dropCallers();
  return answer;
}
