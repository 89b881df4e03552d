import type { Schemas } from "@kule/contract/schemas";
import type { Refusal } from "@kule/rules/decision";
import {
  decideCancel,
  decideDomainRetry,
  decideLoadBalancerRetry,
  decideNetworkRetry,
  decideRetry,
  isDone,
  type JobActionDecision,
  type JobStatus,
} from "@kule/rules/jobs/actions";
import { jobErrorText, knownErrorCode, knownStep, knownStepMessage } from "@kule/rules/jobs/region-texts";
import { serverManaged } from "@kule/rules/refusals";
import type { ServerStatus } from "@kule/rules/servers/lifecycle";
import type { JobError } from "../../platform/jobs.ts";
import type { JobDetails, StepRow } from "./store.ts";

/** Who reads: a region's own texts and the hypervisor's task names are for operators. */
export type Viewer = { readonly isOperator: boolean };

/** A job as the contract shows it. */
export function viewJob(row: JobDetails, steps: readonly StepRow[], viewer: Viewer): Schemas["Job"] {
  const status = row.status as JobStatus;
  const waitsForRetry = status === "queued" && row.attempt > 0;
  return {
    id: row.id,
    kind: row.kind as Schemas["JobKind"],
    action: (row.parameters as { action?: string }).action ?? null,
    status,
    done: isDone(status),
    region: row.region,
    resource: {
      type: row.resource_type as Schemas["ResourceRef"]["type"],
      id: row.resource_id,
      name: row.resource_name,
    },
    phase: row.phase as Schemas["JobPhase"] | null,
    progress: row.progress,
    steps: steps.map((step, index) => viewStep(step, index + 1, viewer)),
    error: viewJobError(row.error as JobError | null, viewer),
    attempt: row.attempt,
    max_attempts: row.max_attempts,
    next_attempt_at: waitsForRetry ? row.run_at.toISOString() : null,
    cancellable: refusedTo(row, viewer) === null && cancelDecision(row).allowed && !row.cancel_requested,
    cancel_requested: row.cancel_requested,
    retryable: refusedTo(row, viewer) === null && retryDecision(row).allowed,
    requested_by: row.requested_by as Schemas["Actor"],
    request_id: row.request_id,
    queued_behind: row.queued_behind,
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    finished_at: row.finished_at?.toISOString() ?? null,
  };
}

/** Steps are numbered through all attempts; the agent's own numbers start again with each. */
function viewStep(step: StepRow, seq: number, viewer: Viewer): Schemas["JobStep"] {
  return {
    seq,
    attempt: step.attempt,
    phase: step.phase as Schemas["JobPhase"],
    name: viewer.isOperator ? step.name : knownStep(step.name),
    status: step.status as Schemas["JobStep"]["status"],
    message: knownStepMessage(step.message),
    ...(viewer.isOperator ? { region_message: step.message } : {}),
    started_at: new Date(step.started_at).toISOString(),
    finished_at: step.finished_at === null ? null : new Date(step.finished_at).toISOString(),
    external_ref: viewer.isOperator ? step.external_ref : null,
  };
}

/** Why a job ended, in our own text; for operators also in the region's, with the code that it named. */
export function viewJobError(error: JobError | null, viewer: Viewer): Schemas["JobError"] | null {
  if (error === null) return null;
  const { code, message, step, retryable } = error;
  const shown = { message: jobErrorText(code), retryable };
  if (viewer.isOperator) return { ...shown, code, step, region_message: message };
  return { ...shown, code: knownErrorCode(code), step: step === null ? null : knownStep(step) };
}

/**
 * Why a job of a managed server is not the reader's to cancel or to retry; null when it is. It is the owner's, and operators
 * repair it.
 */
export function refusedTo({ managed_by }: JobDetails, { isOperator }: Viewer): Refusal<"managed"> | null {
  return managed_by === null || isOperator ? null : serverManaged(managed_by);
}

/** Whether the job may be cancelled now. */
export function cancelDecision(row: JobDetails): JobActionDecision {
  return decideCancel({ kind: row.kind, status: row.status as JobStatus, irreversible: row.irreversible });
}

/** The kinds of resources that have one kind of job, which brings all of them. */
const applies: { readonly [resourceType: string]: typeof decideNetworkRetry } = {
  network: decideNetworkRetry,
  domain: decideDomainRetry,
  load_balancer: decideLoadBalancerRetry,
};

/** Whether the job may be retried now. */
export function retryDecision(row: JobDetails): JobActionDecision {
  const decideApply = applies[row.resource_type];
  if (decideApply !== undefined)
    return decideApply(
      { status: row.status as JobStatus, isOvertaken: row.is_overtaken },
      { isThere: row.resource_is_there, hasOpenJob: row.has_open_job },
    );
  return decideRetry(
    {
      kind: row.kind,
      status: row.status as JobStatus,
      isOvertaken: row.is_overtaken,
      irreversible: row.irreversible,
    },
    {
      status: (row.server_status ?? "deleted") as ServerStatus | "deleted",
      wasCreated: row.server_was_created === true,
      hasOpenJob: row.has_open_job,
      isLocked: row.server_is_locked === true,
    },
  );
}
