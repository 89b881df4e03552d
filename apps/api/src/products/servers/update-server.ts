import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import type { Refusal } from "@kule/rules/decision";
import { serverNameTaken } from "@kule/rules/refusals";
import { serverNameProblem } from "@kule/rules/servers/naming";
import { decideServerAction } from "@kule/rules/servers/preconditions";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import { requirePermissions } from "../../platform/authorise.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { Conflict, fieldError, NotFound } from "../../platform/errors.ts";
import { queueFilterRefresh } from "../../platform/filter-refresh.ts";
import { changedLabels, labelErrors } from "../../platform/labels.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { changed, refuseConflicts, writtenServer } from "./answers.ts";
import { queueServerJob } from "./queue-server-job.ts";
import { lockedState } from "./server-state.ts";
import { findNamesake, lockServer, type ServerDetails, type ServerRow } from "./store.ts";

type Protection = RequestBody<"updateServer">["protection"];

export function checkUpdateServer(
  request: ApiRequest<"updateServer">,
  body: Partial<RequestBody<"updateServer">>,
  found: ServerDetails,
): FieldError[] {
  requireUnprotect(request, found, body.protection);
  const problem = body.name === undefined ? null : serverNameProblem(body.name);
  return [
    ...(problem === null ? [] : [fieldError("/name", "invalid_format", problem)]),
    ...labelErrors(found.labels, body.labels),
  ];
}

/**
 * Changes only the database: the region is not affected, so its applied state stays current. A new name is
 * applied to the region by a job.
 */
export async function updateServer(
  request: ApiRequest<"updateServer">,
  tx: Tx,
  found: ServerDetails,
): Promise<Outcome> {
  const { body, organisationId } = request;
  const server = await lockServer(tx, organisationId, found.id);
  if (server === null || server.status === "deleted") throw new NotFound();
  // Again under the lock: it may have been protected since.
  requireUnprotect(request, server, body.protection);
  const labels = body.labels === undefined ? {} : { labels: changedLabels(server.labels, body.labels) };
  request.checkGeneration(server);
  const { state } = await lockedState(tx, server);
  const isRenamed = body.name !== undefined && body.name !== server.name;
  refuseConflicts(
    [
      ...decideServerAction("update", state),
      ...(isRenamed ? decideServerAction("rename", state) : []),
      ...(isRenamed ? await nameTaken(tx, server, body.name ?? "") : []),
    ],
    server.status,
  );
  if (isRenamed && body.name !== undefined) {
    const set = { name: body.name, ...labels, ...protectionOf(body.protection) };
    if (body.labels !== undefined) await queueFilterRefresh(tx, organisationId, server.region);
    const job = await queueServerJob(request, tx, server, { kind: "ServerUpdate", set }).catch(
      (error: unknown) => {
        if (violatedConstraint(error) !== "server_name") throw error;
        throw new Conflict(serverNameTaken(body.name ?? "", server.region, null));
      },
    );
    return changed(request, tx, server.id, job);
  }
  await tx
    .updateTable("server")
    .set({
      ...labels,
      ...protectionOf(body.protection),
      generation: sql<number>`generation + 1`,
      observed_generation: sql<number>`observed_generation + (observed_generation = generation)::integer`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", server.id)
    .execute();
  if (body.labels !== undefined) await queueFilterRefresh(tx, organisationId, server.region);
  return { reply: reply(200, await writtenServer(tx, organisationId, server.id)), resource: server.id };
}

/**
 * Protection is for callers who may delete servers: they can set it, and not remove it.
 *
 * @throws Forbidden when a caller without the permission would remove it
 */
function requireUnprotect(request: ApiRequest, server: ServerRow, change: Protection): void {
  const isLowered =
    (server.protect_delete && change?.delete === false) ||
    (server.protect_rebuild && change?.rebuild === false);
  if (isLowered) requirePermissions(request, ["server:unprotect"]);
}

function protectionOf(change: Protection): Partial<Pick<ServerRow, "protect_delete" | "protect_rebuild">> {
  return {
    ...(change?.delete === undefined ? {} : { protect_delete: change.delete }),
    ...(change?.rebuild === undefined ? {} : { protect_rebuild: change.rebuild }),
  };
}

async function nameTaken(tx: Tx, server: ServerRow, name: string): Promise<Refusal<"name_taken">[]> {
  const namesake = await findNamesake(tx, server.organisation_id, server.region, name);
  return namesake === null ? [] : [serverNameTaken(name, server.region, namesake)];
}
