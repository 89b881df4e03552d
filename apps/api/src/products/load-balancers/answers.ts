import type { JobKind, Schemas } from "@kule/contract/schemas";
import { decideChange } from "@kule/rules/load-balancers/lifecycle";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict } from "../../platform/errors.ts";
import type { JobRow } from "../../platform/jobs.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { viewJobOrNone } from "../jobs/index.ts";
import { askedBy } from "../networks/index.ts";
import { requestApply } from "./apply.ts";
import { type LoadBalancerDetails, type LoadBalancerRow, lockDetails, writtenLoadBalancer } from "./store.ts";
import { viewLoadBalancer } from "./view.ts";

type Owner = Pick<LoadBalancerRow, "organisation_id" | "id">;

/**
 * The load balancer under its lock, for a change.
 *
 * @throws NotFound, PreconditionFailed, Conflict when it is gone, of another generation, or being deleted
 */
export async function lockForChange(request: ApiRequest, tx: Tx, found: Owner): Promise<LoadBalancerDetails> {
  const row = await lockDetails(tx, found.organisation_id, found.id);
  request.checkGeneration(row);
  const refusal = decideChange({ id: row.id, isDeleting: row.is_deleting });
  if (refusal !== null) throw new Conflict(refusal);
  return row;
}

export type Answered = {
  readonly job: JobRow | null;
  readonly status?: 200 | 202;
  /** Of a new load balancer. */
  readonly isNew?: true;
  /** The listener or target that the change is about. */
  readonly part?: { readonly listener: Schemas["Listener"] } | { readonly target: Schemas["Target"] };
  /** What the audit trail names, when it is not the load balancer. */
  readonly resource?: string;
};

/** The answer to a change, with the load balancer as it is written. */
export async function answered(
  request: ApiRequest,
  tx: Tx,
  owner: Owner,
  { job, status = 202, isNew, part, resource }: Answered,
): Promise<Outcome> {
  const row = await writtenLoadBalancer(tx, owner.organisation_id, owner.id);
  const [view, jobView] = [viewLoadBalancer(row), await viewJobOrNone(tx, job, request.caller)];
  const headers = {
    ETag: `"g${row.generation}"`,
    ...(job === null ? {} : { Link: `</api/v1/jobs/${job.id}>; rel="monitor"` }),
    ...(isNew ? { Location: `/api/v1/load-balancers/${row.id}` } : {}),
  };
  return {
    reply: reply(status, { ...part, load_balancer: view, job: jobView }, headers),
    resource: resource ?? row.id,
    details: { load_balancer: row.id, ...(job === null ? {} : { job: job.id }) },
  };
}

export type Written = {
  readonly row: Owner;
  readonly job: JobRow | null;
  /** Of the job, also where that comes later. */
  readonly kind: JobKind;
};

/** The answer to what can be tried (`dry_run`): then what would be written, or what prevents it. */
export async function answeredOrTried(
  request: ApiRequest,
  tx: Tx,
  write: () => Promise<Written>,
  more: Pick<Answered, "isNew"> = {},
): Promise<Outcome> {
  try {
    const { row, job, kind } = await write();
    if (!request.dryRun) return await answered(request, tx, row, { job, ...more });
    const load_balancer = viewLoadBalancer(await writtenLoadBalancer(tx, row.organisation_id, row.id));
    const would = { load_balancer, job_kind: kind };
    return { reply: reply(200, { dry_run: true, would, blockers: [] }), resource: null };
  } catch (error) {
    if (!request.dryRun || !(error instanceof Conflict)) throw error;
    const blockers = [{ ...error.precondition }];
    return { reply: reply(200, { dry_run: true, would: null, blockers }), resource: null };
  }
}

/** Queues the job that brings the change to the machines, and answers with it. */
export async function answeredWithApply(
  request: ApiRequest,
  tx: Tx,
  row: LoadBalancerRow,
  more: Omit<Answered, "job"> = {},
): Promise<Outcome> {
  return answered(request, tx, row, { ...more, job: await requestApply(tx, row, askedBy(request)) });
}
