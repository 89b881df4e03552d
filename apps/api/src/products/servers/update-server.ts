import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { decideServerAction } from "@kule/rules/servers/preconditions";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import { changedLabels, labelErrors } from "../../platform/labels.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { refuseConflicts, writtenServer } from "./answers.ts";
import { lockedState } from "./server-state.ts";
import { lockServer, type ServerDetails } from "./store.ts";

export function checkUpdateServer(
  _request: ApiRequest<"updateServer">,
  body: Partial<RequestBody<"updateServer">>,
  found: ServerDetails,
): FieldError[] {
  return labelErrors(found.labels, body.labels);
}

/** Changes what is only in the database: the region has nothing to be told, so what it has applied stays current. */
export async function updateServer(
  request: ApiRequest<"updateServer">,
  tx: Tx,
  found: ServerDetails,
): Promise<Outcome> {
  const { body, organisationId } = request;
  const server = await lockServer(tx, organisationId, found.id);
  if (server === null || server.status === "deleted") throw new NotFound();
  const labels = body.labels === undefined ? {} : { labels: changedLabels(server.labels, body.labels) };
  request.checkGeneration(server);
  refuseConflicts(decideServerAction("update", (await lockedState(tx, server)).state), server.status);
  await tx
    .updateTable("server")
    .set({
      ...labels,
      ...(body.protection?.delete === undefined ? {} : { protect_delete: body.protection.delete }),
      ...(body.protection?.rebuild === undefined ? {} : { protect_rebuild: body.protection.rebuild }),
      generation: sql<number>`generation + 1`,
      observed_generation: sql<number>`observed_generation + (observed_generation = generation)::integer`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", server.id)
    .execute();
  return { reply: reply(200, await writtenServer(tx, organisationId, server.id)), resource: server.id };
}
