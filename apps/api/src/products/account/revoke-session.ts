import type { ApiRequest } from "../../platform/api-request.ts";
import { mutation } from "../../platform/mutation.ts";
import { noContent, type Reply } from "../../platform/reply.ts";
import type { SessionRow } from "./session-store.ts";
import { revokeTokenRow } from "./token-end-store.ts";

/** Ends one session of the caller. It is refused here from now on and everywhere within a second. */
export async function revokeSession(
  request: ApiRequest<"revokeSession">,
  session: SessionRow,
): Promise<Reply> {
  const answer = await mutation(
    request,
    async (tx) => {
      await revokeTokenRow(tx, session.id);
      return { reply: noContent(), resource: session.id };
    },
    { evenIfSuspended: true },
  );
  request.deps.tokens.dropCallers();
  return answer;
}
