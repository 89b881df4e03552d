import { invalidState } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import { Conflict } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import type { Reply } from "../../platform/reply.ts";
import { userOfSession } from "../account/index.ts";
import { actInOrganisationOf, join, offered } from "./join.ts";

/** The user of a session joins by an invitation of their own. */
export async function joinOrganisation(request: ApiRequest<"joinOrganisation">): Promise<Reply> {
  const user = userOfSession(request);
  const invitation = await offered(request, request.body.secret);
  if (invitation.email.toLowerCase() !== user.email.toLowerCase())
    throw new Conflict(
      invalidState("invitation_is_for_you", "the invitation is for another e-mail than this session's", {
        resource: invitation.id,
        fix: "log in as the person who is invited",
      }),
    );
  actInOrganisationOf(request, invitation);
  return mutation(request, (tx) => join(tx, invitation, user.id));
}
