import { decideReconcile } from "@kule/rules/servers/reconcile";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { isBrokenByRebuild } from "../jobs/index.ts";
import { changed, refuseConflicts } from "./answers.ts";
import { passWaitingRules } from "./preempt.ts";
import { queueServerJob } from "./queue-server-job.ts";
import { lockedState } from "./server-state.ts";
import { findServer, lockServer, type ServerDetails } from "./store.ts";

/** Writes the job that reconciles the server's VM. Its drift is read again under the lock. */
export async function reconcileServer(
  request: ApiRequest<"reconcileServer">,
  tx: Tx,
  found: ServerDetails,
): Promise<Outcome> {
  const server = await lockServer(tx, found.organisation_id, found.id);
  if (server === null || server.status === "deleted") throw new NotFound();
  const { state } = await lockedState(tx, server);
  const drift = (await findServer(tx, server.organisation_id, server.id))?.drift ?? null;
  const refusals = decideReconcile({
    state,
    isBrokenByRebuild: await isBrokenByRebuild(tx, server),
    drift: drift === null ? null : { ...drift, fields: drift.differences.map(({ field }) => field) },
  });
  refuseConflicts(refusals, server.status);
  await passWaitingRules(tx, server.organisation_id, server.id);
  const job = await queueServerJob(request, tx, server, { kind: "ServerReconcile" });
  return changed(request, tx, server.id, job);
}
