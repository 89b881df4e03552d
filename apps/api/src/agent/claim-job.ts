import { isControlPlaneJobKind } from "@kule/contract/control-plane-kinds";
import type { Schemas } from "@kule/contract/schemas";
import { mayTakeSecret } from "@kule/rules/regions/agent-key";
import { sql } from "kysely";
import pg from "pg";
import type { ApiRequest } from "../platform/api-request.ts";
import type { Tx } from "../platform/database.ts";
import { DatabaseAway, violatedConstraint } from "../platform/database-errors.ts";
import type { Deps } from "../platform/deps.ts";
import { handlerOf, type JobHandlers, kindsOf } from "../platform/job-handler.ts";
import type { JobRow } from "../platform/jobs.ts";
import { noContent, type Reply, reply } from "../platform/reply.ts";
import { inTransaction, sendAhead } from "../platform/transaction.ts";
import type { ClaimedJobs } from "./claimed-jobs.ts";
import { type AttemptOutcome, endAttempt, StaleLease } from "./end-attempt.ts";
import { regionOf } from "./region.ts";

type ClaimedJob = Schemas["ClaimedJob"]["job"];

/**
 * Backoffs and leases end without a notification, and a NOTIFY can be lost with its connection: a waiting
 * claim checks again at this interval even without one.
 */
const recheckMs = 2_000;

/** Who claims: a region's agent, or a worker for the jobs of the control plane itself. */
export type Claimant = {
  /** Null: the jobs without a region. */
  readonly region: string | null;
  /** Null for the worker, which has no token. */
  readonly tokenId: string | null;
  readonly name: string;
};

/** A claim with what is needed to answer it. */
export type Claim = {
  readonly deps: Deps;
  readonly handlers: JobHandlers;
  readonly claimed: ClaimedJobs;
  readonly claimant: Claimant;
  readonly body: Schemas["ClaimRequest"];
  /** Aborted when nobody reads the answer any more. */
  readonly disconnected: AbortSignal;
};

/** Assigns the region's next job to the agent, or waits for one. */
export async function claimJob(
  request: ApiRequest<"claimJob">,
  handlers: JobHandlers,
  claimed: ClaimedJobs,
): Promise<Reply> {
  const { deps, body, caller } = request;
  const region = regionOf(request);
  const job = await nextJob({
    deps,
    handlers,
    claimed,
    claimant: { region, tokenId: caller.tokenId, name: body.agent_name ?? caller.tokenName },
    body,
    disconnected: request.context.req.raw.signal,
  });
  return job === null ? noContent() : reply(200, { job });
}

/** The next job for whoever claims, or null when there was none for as long as the claim waits. */
export async function nextJob(claim: Claim): Promise<ClaimedJob | null> {
  const { deps, body } = claim;
  const deadline = performance.now() + (body.wait_seconds ?? 0) * 1000;
  const gone = AbortSignal.any([deps.stopping, claim.disconnected]);
  for (;;) {
    // Subscribed before the search, so that what happens between the search and the wait is not missed.
    const news = listenForJobs(claim);
    try {
      const found = await claimOnce(claim);
      if (found instanceof NotAssigned) {
        await releaseUnassignable(claim, found);
        continue;
      }
      if (found !== null) {
        deps.metrics.jobs.claimed(found.row);
        return found.job;
      }
      const leftMs = deadline - performance.now();
      if (leftMs <= 0 || gone.aborted) return null;
      await news.next(Math.min(leftMs, recheckMs), gone);
    } finally {
      news.dispose();
    }
  }
}

/** The agent has closed the connection during the search: it is stopping, or was ended. */
class CallerDisconnected extends Error {}

/**
 * One search. The same claim may arrive twice concurrently, from an agent that gave up on the first
 * connection: if both find work, the index on claims gives it to one of them, and the other searches again
 * and gets the same answer.
 */
async function claimOnce(claim: Claim): Promise<Assigned | NotAssigned | null> {
  const look = () =>
    inTransaction(claim.deps.db, async (tx) => {
      const job = await assign(tx, claim);
      // Rolled back, the job waits for the next agent; assigned without a reader, it would wait for the end
      // of its lease.
      if (job !== null && claim.disconnected.aborted) throw new CallerDisconnected();
      return job;
    }).catch((error: unknown) => {
      if (error instanceof CallerDisconnected) return null;
      throw error;
    });
  try {
    return await look();
  } catch (error) {
    if (violatedConstraint(error) !== "job_claim_id") throw error;
    return look();
  }
}

async function assign(
  tx: Tx,
  { deps, handlers, claimed, claimant, body }: Claim,
): Promise<Assigned | NotAssigned | null> {
  const { leaseSeconds } = deps.settings;
  const { region, tokenId, name } = claimant;
  // A newer agent may support kinds that this build cannot settle: they wait for a newer control plane. What the control
  // plane does itself no agent is given, whatever it says that it can do.
  const known = kindsOf(handlers);
  const capabilities = body.capabilities.filter(
    (kind) => known.has(kind) && isControlPlaneJobKind(kind) === (region === null),
  );
  const { rows } = await sql<JobRow>`
    select * from kule_claim_job(${region}, ${tokenId}, ${name}, ${body.claim_id},
                                 ${capabilities}::text[], ${leaseSeconds}::integer)`.execute(tx);
  const [job] = rows;
  if (job === undefined || job.lease_until === null) return null;
  claimed.remember(job);
  markInterruptedSteps(tx, job);
  let payload: ClaimedJob["payload"];
  try {
    payload = await handlerOf(handlers, job).renderPayload(tx, job);
  } catch (error) {
    // An error of the database says nothing about the job.
    if (error instanceof DatabaseAway || error instanceof pg.DatabaseError) throw error;
    return new NotAssigned(job, unrenderable(error), error);
  }
  if (
    hasSealedSecret(payload) &&
    (region === null || !(await mayOpenSecrets(tx, region, body.public_key ?? null)))
  )
    return new NotAssigned(job, keyAwaited);
  return {
    row: job,
    job: {
      id: job.id,
      kind: job.kind as Schemas["JobKind"],
      attempt: job.attempt,
      epoch: job.epoch,
      lease_seconds: leaseSeconds,
      lease_expires_at: job.lease_until.toISOString(),
      cancel_requested: job.cancel_requested,
      payload,
    },
  };
}

/** A job with what its claimant is told of it. */
type Assigned = { readonly row: JobRow; readonly job: ClaimedJob };

/** A job that was claimed and is released again: this build cannot render it, or the agent cannot run it. */
class NotAssigned {
  readonly job: JobRow;
  readonly outcome: AttemptOutcome;
  readonly cause: unknown;

  constructor(job: JobRow, outcome: AttemptOutcome, cause?: unknown) {
    this.job = job;
    this.outcome = outcome;
    this.cause = cause;
  }
}

/**
 * Ends the attempt of a job that no agent can be given. If the claim were only refused, every claim of the
 * region would find this job first, and no other job would ever run.
 */
async function releaseUnassignable(
  { deps, handlers }: Claim,
  { job, outcome, cause }: NotAssigned,
): Promise<void> {
  if (cause === undefined)
    deps.log.warn(
      { job: job.id, kind: job.kind, code: outcome.error?.code },
      "a job waits for the region's key",
    );
  else deps.log.error({ err: cause, job: job.id, kind: job.kind }, "the payload of a job cannot be rendered");
  try {
    const status = await inTransaction(deps.db, async (tx) => {
      await handlerOf(handlers, job).lockResource(tx, job);
      return endAttempt(tx, job, outcome, { handlers, settings: deps.settings });
    });
    deps.metrics.jobs.attemptEnded(job, status);
  } catch (error) {
    if (!(error instanceof StaleLease)) throw error;
  }
}

/** One more statement for jobs of Windows servers; none for others. */
async function mayOpenSecrets(tx: Tx, region: string, claimed: string | null): Promise<boolean> {
  const row = await tx
    .selectFrom("region")
    .select("agent_public_key")
    .select([
      sql<number | null>`extract(epoch from clock_timestamp() - agent_key_seen_at)::float8`.as("in_use_age"),
      sql<number | null>`extract(epoch from clock_timestamp() - pending_agent_key_seen_at)::float8`.as(
        "pending_age",
      ),
    ])
    .where("slug", "=", region)
    .executeTakeFirstOrThrow();
  return mayTakeSecret({
    inUse: row.agent_public_key,
    claimed,
    inUseAgeSeconds: row.in_use_age,
    pendingAgeSeconds: row.pending_age,
  });
}

function hasSealedSecret(payload: ClaimedJob["payload"]): boolean {
  // Of a certificate's key only the agent in use may be the one that it is sealed to.
  if (payload.kind === "CertificateRequest") return true;
  if (payload.kind === "LoadBalancerApply") return payload.certificates.length > 0;
  return "sealed_password" in payload && typeof payload.sealed_password === "string";
}

/**
 * An agent with the key may claim next: the job is released at once and is not assigned again for a while.
 */
const keyAwaited: AttemptOutcome = {
  status: "released",
  waitSeconds: 30,
  error: {
    code: "agent_key_pending",
    message:
      "The region's agent has a new key, and the secret is for the one before. An operator has to approve the new key.",
    step: null,
    retryable: true,
  },
  internal: "the agent that asked for the job has another key than the one that secrets are sealed to",
  power: null,
  vmidUnusable: null,
  result: null,
};

function unrenderable(cause: unknown): AttemptOutcome {
  return {
    status: "retry",
    error: {
      code: "internal",
      message: "Something went wrong on our side; this is tried again.",
      step: null,
      retryable: true,
    },
    internal: `the payload cannot be rendered: ${cause instanceof Error ? cause.message : cause}`,
    power: null,
    vmidUnusable: null,
    result: null,
  };
}

/** The step that a former holder ran when its lease expired is no longer running. */
function markInterruptedSteps(tx: Tx, job: JobRow): void {
  if (job.epoch === 1) return;
  const steps = tx
    .updateTable("job_step")
    .set({
      status: "failed",
      message: sql<string>`coalesce(message, 'interrupted')`,
      finished_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", job.organisation_id)
    .where("job_id", "=", job.id)
    .where("epoch", "<", job.epoch)
    .where("status", "=", "running");
  sendAhead(tx, steps);
}

type JobNews = { next(withinMs: number, gone: AbortSignal): Promise<void>; dispose(): void };

function listenForJobs({ deps, claimant }: Claim): JobNews {
  const { promise, resolve } = Promise.withResolvers<void>();
  // Jobs without a region are announced under the empty name.
  const region = claimant.region ?? "";
  const unsubscribe = deps.notifications.subscribe("kule_region", (about) => {
    if (about === null || about === region) resolve();
  });
  return {
    next: (withinMs, gone) =>
      new Promise<void>((done) => {
        const stop = () => {
          clearTimeout(timer);
          gone.removeEventListener("abort", stop);
          done();
        };
        const timer = setTimeout(stop, withinMs);
        gone.addEventListener("abort", stop);
        if (gone.aborted) stop();
        void promise.then(stop);
      }),
    dispose: unsubscribe,
  };
}
