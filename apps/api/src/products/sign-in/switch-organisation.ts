import type { ApiRequest } from "../../platform/api-request.ts";
import { fieldError, Invalid, Unauthorized } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { revokeTokenRow, sessionProof, succeedSession, userOfSession } from "../account/index.ts";
import { listMemberships } from "../members/index.ts";
import { viewOrganisationRef } from "../organisations/index.ts";

/**
 * Replaces this session by one in another organisation. A new row and no change of the old one: what still
 * runs under the old token (a console, a stream of a job) belongs to the old organisation, and ends with it.
 */
export async function switchOrganisation(request: ApiRequest<"switchOrganisation">): Promise<Reply> {
  const user = userOfSession(request);
  const { tokenId } = request.caller;
  // Before the transaction, which sees the rows of the session's present organisation only.
  const memberships = await listMemberships(request.db, user.id);
  const chosen = memberships.find((each) => each.id === request.body.organisation_id);
  if (chosen === undefined)
    throw new Invalid([fieldError("/organisation_id", "not_found", "no such organisation")]);
  const answer = await mutation(
    request,
    async (tx) => {
      const session = await succeedSession(tx, sessionProof(request), chosen.id);
      // Ended since the request began.
      if (session === null) throw new Unauthorized("the token is unknown, expired or revoked");
      await revokeTokenRow(tx, tokenId);
      return {
        reply: reply(200, {
          token: session.secret,
          expires_at: session.expiresAt.toISOString(),
          user,
          organisation: viewOrganisationRef(chosen),
        }),
        resource: session.id,
        details: { predecessor: tokenId },
      };
    },
    { evenIfSuspended: true },
  );
  request.deps.tokens.dropCallers();
  return answer;
}
