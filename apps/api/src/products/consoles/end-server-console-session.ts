import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { noContent } from "../../platform/reply.ts";
import { findLiveSession, requestEnd, type SessionRow } from "./store.ts";

/**
 * A caller who may open a console may end one, as `take_over` does: the process that holds it is notified at
 * the commit.
 */
export async function endServerConsoleSession(
  request: ApiRequest<"endServerConsoleSession">,
  tx: Tx,
  found: SessionRow,
): Promise<Outcome> {
  const { organisationId } = request;
  const session = await findLiveSession(tx, organisationId, found.server_id, found.id);
  if (session === null) throw new NotFound();
  await requestEnd(tx, organisationId, [session.id], "ended");
  return {
    reply: noContent(),
    resource: session.server_id,
    details: { session: session.id, type: session.type, of: session.actor },
  };
}
