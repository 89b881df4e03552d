import type { Schemas } from "@kule/contract/schemas";
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

/** Queues the job that brings the change to the machines, and answers with it. */
export async function answeredWithApply(
  request: ApiRequest,
  tx: Tx,
  row: LoadBalancerRow,
  more: Omit<Answered, "job"> = {},
): Promise<Outcome> {
  return answered(request, tx, row, { ...more, job: await requestApply(tx, row, askedBy(request)) });
}
