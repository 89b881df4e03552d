import { invalidState } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import { Conflict } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { noContent, type Reply } from "../../platform/reply.ts";
import { revokeTokenRow } from "../account/index.ts";

/** Ends the session of this call. Other tokens are ended by `DELETE /tokens/{id}`. */
export async function logout(request: ApiRequest<"logout">): Promise<Reply> {
  const { tokenId, kind } = request.caller;
  const work = mutation(
    request,
    async (tx) => {
      if (kind !== "session")
        throw new Conflict(
          invalidState("token_is_a_session", "this token is not a session", {
            resource: tokenId,
            fix: `DELETE /tokens/${tokenId}`,
          }),
        );
      await revokeTokenRow(tx, tokenId);
      return { reply: noContent(), resource: tokenId };
    },
    { evenIfSuspended: true },
  );
  const answer = await work;
  request.deps.tokens.dropCallers();
  return answer;
}
