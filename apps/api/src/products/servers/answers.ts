import type { JobKind, Schemas } from "@kule/contract/schemas";
import type { Refusal } from "@kule/rules/decision";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, type Precondition } from "../../platform/errors.ts";
import type { JobRow } from "../../platform/jobs.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { viewWrittenJob } from "../jobs/index.ts";
import { findServer } from "./store.ts";
import { viewServer } from "./view.ts";

/** The failed preconditions, as a dry run lists them. Nothing was written, so nothing needs to be undone. */
export function blocked(refusals: readonly Refusal[]): Outcome {
  const blockers: Precondition[] = refusals.map((refusal) => ({ ...refusal }));
  const body: Schemas["DryRun"] = { dry_run: true, would: null, blockers };
  return { reply: reply(200, body), resource: null };
}

/** @throws Conflict with the first of the refusals */
export function refuseConflicts(refusals: readonly Refusal[], currentStatus?: string): void {
  const [first] = refusals;
  if (first === undefined) return;
  throw new Conflict(first, first.code === "invalid_state" ? currentStatus : undefined);
}

/** The job of a change that was written, or what prevents it: only a dry run gets that, everything else throws it. */
export type Change = { readonly job: JobRow } | { readonly refusals: readonly Refusal[] };

/** The answer to a change of a server. */
export function answered(
  request: ApiRequest,
  tx: Tx,
  serverId: string,
  change: Change,
): Outcome | Promise<Outcome> {
  return "job" in change ? changed(request, tx, serverId, change.job) : blocked(change.refusals);
}

/** The 202 of a changed server with its job; or, in a dry run, what it would be. */
export async function changed(request: ApiRequest, tx: Tx, serverId: string, job: JobRow): Promise<Outcome> {
  const server = await writtenServer(tx, request.organisationId, serverId);
  if (request.dryRun) return would(server, job.kind as JobKind, null);
  return {
    reply: reply(202, { server, job: await viewWrittenJob(tx, job, request.caller) }, linksTo(job)),
    resource: serverId,
    details: { job: job.id },
  };
}

/** What a dry run shows of the server that a create would write. */
export function would(
  server: Schemas["Server"],
  jobKind: JobKind | null,
  created: Schemas["CreatedAlong"] | null,
): Outcome {
  const body: Schemas["DryRun"] = {
    dry_run: true,
    would: { server, job_kind: jobKind, created },
    blockers: [],
  };
  return { reply: reply(200, body), resource: null };
}

/** The server as this transaction has written it. */
export async function writtenServer(tx: Tx, organisationId: string, id: string): Promise<Schemas["Server"]> {
  const row = await findServer(tx, organisationId, id);
  if (row === null) throw new Error(`server ${id} went away while it was written`);
  return viewServer(row);
}

/** Where to watch the job. */
export function linksTo(job: JobRow): Record<string, string> {
  return { Link: `</api/v1/jobs/${job.id}>; rel="monitor"` };
}
