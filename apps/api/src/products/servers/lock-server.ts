import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { writtenServer } from "./answers.ts";
import { lockServer as lockRow, type ServerDetails } from "./store.ts";

/**
 * An operator's lock: from its commit on every change is refused, including those that were checked before
 * it.
 */
export function lockServer(
  request: ApiRequest<"lockServer">,
  tx: Tx,
  found: ServerDetails,
): Promise<Outcome> {
  return writeLock(tx, found, {
    locked_at: sql<Date>`clock_timestamp()`,
    locked_by: JSON.stringify(request.caller.actor),
    locked_reason: request.body.reason.trim(),
  });
}

export function unlockServer(
  _request: ApiRequest<"unlockServer">,
  tx: Tx,
  found: ServerDetails,
): Promise<Outcome> {
  return writeLock(tx, found, { locked_at: null, locked_by: null, locked_reason: null });
}

type Lock = {
  readonly locked_at: ReturnType<typeof sql<Date>> | null;
  readonly locked_by: string | null;
  readonly locked_reason: string | null;
};

/** The region is not affected: its applied state stays current. */
async function writeLock(tx: Tx, found: ServerDetails, lock: Lock): Promise<Outcome> {
  const server = await lockRow(tx, found.organisation_id, found.id);
  if (server === null || server.status === "deleted") throw new NotFound();
  await tx
    .updateTable("server")
    .set({
      ...lock,
      generation: sql<number>`generation + 1`,
      observed_generation: sql<number>`observed_generation + (observed_generation = generation)::integer`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", server.organisation_id)
    .where("id", "=", server.id)
    .execute();
  return {
    reply: reply(200, await writtenServer(tx, server.organisation_id, server.id)),
    resource: server.id,
  };
}
