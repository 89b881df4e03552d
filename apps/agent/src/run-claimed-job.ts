// A claimed job from start to end: the program runs under the lease, and its outcome is reported.

import type { Schemas } from "@kule/contract/schemas";
import { validateJobPayload } from "@kule/contract/validate";
import type { CrashHook } from "@kule/crash-points/crash-hook";
import { Released, type StaleLease } from "@kule/programs/errors";
import { outcomeOfFailure } from "@kule/programs/outcome";
import type { Host, Job, Observed } from "@kule/programs/program";
import type { AgentWatcher } from "./agent-watcher.ts";
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
  readonly watcher?: AgentWatcher | undefined;
};

export class RunningJob {
  readonly id: string;
  readonly #claimed: ClaimedJob;
  readonly #dependencies: JobDependencies;
  readonly #reporter: JobReporter;
  readonly #lease: Lease;
  readonly #abort = new AbortController();
  readonly #idleChanged: () => void;
  #stopping = false;
  #isIdle = false;

  /**
   * @param sentAt monotonic time at which the claim was sent that answered this job
   * @param idleChanged called when it begins or ends to wait for its guest
   */
  constructor(claimed: ClaimedJob, sentAt: number, dependencies: JobDependencies, idleChanged: () => void) {
    this.id = claimed.id;
    this.#idleChanged = idleChanged;
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

  /** Waits for its guest, which may take minutes, and does nothing in that time. */
  get isIdle(): boolean {
    return this.#isIdle;
  }

  /** Begins nothing more; what is running may end. */
  stopBeforeNextEffect(): void {
    this.#stopping = true;
  }

  /** Aborts what is running. The next run of the job observes the result. */
  breakOff(reason: Released | StaleLease): void {
    this.#stopping = true;
    this.#abort.abort(reason);
  }

  /** Runs the job to its end and reports it. Never throws. */
  async run(): Promise<void> {
    const { log, runtime } = this.#dependencies;
    const startedAt = runtime.monotonic();
    log.info({ attempt: this.#claimed.attempt }, "job claimed");
    const keptAlive = this.#reporter.keepAlive(this.#abort.signal).catch((error: unknown) => {
      log.error({ err: error }, "the lease cannot be renewed");
    });
    const outcome = await this.#outcome();
    const seconds = Math.round(runtime.monotonic() - startedAt) / 1000;
    if (outcome === null) {
      log.warn({ seconds }, "job dropped: another agent has claimed it");
    } else {
      const facts = { outcome: outcome.status, seconds, ...(outcome.error ? { error: outcome.error } : {}) };
      const reported = await this.#reporter.end(outcome).catch((error: unknown) => {
        log.error({ err: error }, "the outcome could not be reported");
        return false;
      });
      if (!reported) log.warn(facts, "the outcome is not recorded; the job will run again");
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
      report: (event) => {
        if (event.status === "running") this.#dependencies.watcher?.stepBegan(this.id, event.name);
        return this.#reporter.report(event);
      },
      lease: this.#lease,
      signal: this.#abort.signal,
      beforeEffect: () => {
        if (this.#stopping) throw new Released();
        this.#reporter.throwIfCancelled();
      },
      throwIfCancelled: () => this.#reporter.throwIfCancelled(),
      idles: (isIdle) => {
        this.#isIdle = isIdle;
        this.#idleChanged();
      },
      crashPoint: this.#dependencies.crashPoint,
    };
  }
}

/** This version does not support the payload: a retry would read the same. */
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
