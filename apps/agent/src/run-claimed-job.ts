// From a claimed job to its end: the program runs under the lease, and whatever comes of it is reported.

import type { Schemas } from "@kule/contract/schemas";
import { validateJobPayload } from "@kule/contract/validate";
import type { CrashHook } from "@kule/crash-points/crash-hook";
import { Released, type StaleLease } from "@kule/programs/errors";
import { outcomeOfFailure } from "@kule/programs/outcome";
import type { Host, Job, Observed } from "@kule/programs/program";
import type { ClaimedJob, ControlPlane } from "./control-plane.ts";
import { JobReporter } from "./job-reporter.ts";
import { Lease } from "./lease.ts";
import type { Logger } from "./log.ts";
import type { AgentRuntime } from "./runtime.ts";

export type JobDependencies = {
  readonly controlPlane: ControlPlane;
  readonly runtime: AgentRuntime;
  readonly log: Logger;
  readonly crashPoint: CrashHook;
  /** Does the job in the region: runJob of the programs with their world. */
  readonly run: (job: Job, host: Host) => Promise<Observed>;
};

export class RunningJob {
  readonly id: string;
  readonly #claimed: ClaimedJob;
  readonly #dependencies: JobDependencies;
  readonly #reporter: JobReporter;
  readonly #lease: Lease;
  readonly #abort = new AbortController();
  #stopping = false;

  /** @param sentAt monotonic time at which the claim was sent that answered this job */
  constructor(claimed: ClaimedJob, sentAt: number, dependencies: JobDependencies) {
    this.id = claimed.id;
    this.#claimed = claimed;
    const { controlPlane, runtime } = dependencies;
    const log = dependencies.log.child({ job: claimed.id, kind: claimed.kind, epoch: claimed.epoch });
    this.#dependencies = { ...dependencies, log };
    // A claim whose reply was lost may be older than this. The program's first report settles that before anything
    // is begun: it is acknowledged, or the job is not ours.
    this.#lease = new Lease(runtime, claimed.lease_seconds, sentAt);
    this.#reporter = new JobReporter({
      job: claimed,
      lease: this.#lease,
      controlPlane,
      runtime,
      log,
      lost: (reason) => this.#abort.abort(reason),
    });
  }

  /** Begins nothing more; what is under way may end. */
  stopBeforeNextEffect(): void {
    this.#stopping = true;
  }

  /** Breaks off what is under way. The next run of the job looks at what became of it. */
  breakOff(reason: Released | StaleLease): void {
    this.#stopping = true;
    this.#abort.abort(reason);
  }

  /** Runs the job to its end and reports it. Never throws. */
  async toTheEnd(): Promise<void> {
    const { log, runtime } = this.#dependencies;
    const startedAt = runtime.monotonic();
    log.info({ attempt: this.#claimed.attempt }, "job claimed");
    const keptAlive = this.#reporter.keepAlive(this.#abort.signal).catch((error: unknown) => {
      log.error({ err: error }, "the lease cannot be renewed");
    });
    const outcome = await this.#outcome();
    const seconds = Math.round(runtime.monotonic() - startedAt) / 1000;
    if (outcome === null) {
      log.warn({ seconds }, "job dropped: it is somebody else's now");
    } else {
      const facts = { outcome: outcome.status, seconds, ...(outcome.error ? { error: outcome.error } : {}) };
      const reported = await this.#reporter.end(outcome).catch((error: unknown) => {
        log.error({ err: error }, "the outcome could not be reported");
        return false;
      });
      if (!reported) log.warn(facts, "the outcome is not recorded; the job is going to be run again");
      else if (outcome.status === "succeeded") log.info(facts, "job succeeded");
      else log.warn(facts, `job ended: ${outcome.status}`);
    }
    this.#abort.abort();
    await keptAlive;
  }

  async #outcome(): Promise<Schemas["JobOutcome"] | null> {
    if (this.#stopping) return { status: "released" };
    const payload = validateJobPayload(this.#claimed.payload);
    if (!payload.ok || payload.value.kind !== this.#claimed.kind) {
      const wrong = payload.ok
        ? `the payload is of kind ${payload.value.kind}`
        : payload.errors.map(({ field, message }) => `${field} ${message}`).join("; ");
      return notUnderstood(wrong);
    }
    try {
      const observed = await this.#dependencies.run(
        { id: this.#claimed.id, payload: payload.value },
        this.#host(),
      );
      return { status: "succeeded", observed: { ...observed } };
    } catch (error) {
      return outcomeOfFailure(error);
    }
  }

  #host(): Host {
    return {
      report: (event) => this.#reporter.report(event),
      lease: this.#lease,
      signal: this.#abort.signal,
      beforeEffect: () => {
        if (this.#stopping) throw new Released();
        this.#reporter.throwIfCancelled();
      },
      throwIfCancelled: () => this.#reporter.throwIfCancelled(),
      crashPoint: this.#dependencies.crashPoint,
    };
  }
}

/** The payload is not what this version knows: trying again would read the same. */
function notUnderstood(wrong: string): Schemas["JobOutcome"] {
  return {
    status: "failed",
    error: {
      code: "payload_not_understood",
      message: "The region's agent does not understand this job. An operator has to look at it.",
      internal: `agent and control plane do not fit together; update the older one: ${wrong}`,
      retryable: true,
    },
  };
}
