import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { statusDuring } from "@kule/rules/servers/power";
import { decideServerAction } from "@kule/rules/servers/preconditions";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { fieldError, NotFound } from "../../platform/errors.ts";
import { requestCancel } from "../../platform/jobs.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { blocked, changed, refuseConflicts } from "./answers.ts";
import { preemptQueuedJob } from "./preempt.ts";
import { queueServerJob } from "./queue-server-job.ts";
import { lockedState } from "./server-state.ts";
import { lockServer, type ServerDetails } from "./store.ts";

/** `force_after` is only for actions that ask the guest: the others have nothing to fall back on. */
export function checkPowerServer(
  _request: ApiRequest<"powerServer">,
  { action, force_after }: Partial<RequestBody<"powerServer">>,
): FieldError[] {
  const asks = action === undefined || action === "shutdown" || action === "reboot";
  if (asks || force_after !== true) return [];
  return [
    fieldError("/force_after", "conflicts_with", `is for shutdown and reboot: ${action} asks no guest`),
  ];
}

/** Writes the server's transition and the job for it. */
export async function powerServer(
  request: ApiRequest<"powerServer">,
  tx: Tx,
  found: ServerDetails,
): Promise<Outcome> {
  const { action, timeout_seconds = 60, force_after = false } = request.body;
  const server = await lockServer(tx, found.organisation_id, found.id);
  if (server === null || server.status === "deleted") throw new NotFound();
  request.checkGeneration(server);
  const { state, jobs } = await lockedState(tx, server);
  const refusals = decideServerAction(action, state);
  if (request.dryRun && refusals.length > 0) return blocked(refusals);
  refuseConflicts(refusals, server.status);

  // A stop supersedes a shutdown or reboot that the guest ignores.
  if (jobs.queued !== null) await preemptQueuedJob(tx, server, jobs.queued, "The server is stopped at once");
  if (jobs.running !== null) await requestCancel(tx, jobs.running);
  const job = await queueServerJob(request, tx, server, {
    kind: "ServerPower",
    status: statusDuring(action),
    parameters: { action, timeout_seconds, force_after },
  });
  return changed(request, tx, server.id, job);
}
