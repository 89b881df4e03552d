// The reports of one running job to the control plane. They are sent one at a time, in the order of their
// numbers, and each is repeated with the same (epoch, seq) until it is acknowledged, the job turns out to
// belong to another holder, or a try fails after the end of the lease. Every acknowledgement renews the
// lease; when a step takes long, empty reports do.
//
// What begins is reported before it is begun. What has ended changes nothing that is done next, so it is sent with the
// next report, or alone after a second: a crash may lose it, and the next run of the job observes.

import type { Schemas } from "@kule/contract/schemas";
import { Cancelled, StaleLease } from "@kule/programs/errors";
import type { StepEvent } from "@kule/programs/program";
import { backoffMilliseconds } from "./backoff.ts";
import type { ControlPlane } from "./control-plane.ts";
import type { Lease } from "./lease.ts";
import type { Logger } from "./log.ts";
import { fittedOutcome, stepReport } from "./report-text.ts";
import { type AgentRuntime, pausedFully } from "./runtime.ts";

type Content = { readonly event?: StepEvent; readonly outcome?: Schemas["JobOutcome"] };
type Delivery = "acknowledged" | "refused" | "lost";

/** Between two tries of one report; a lease has room for several. */
const LONGEST_PAUSE_FRACTION = 1 / 12;
const REPORT_TIMEOUT_FRACTION = 1 / 3;
/** How long the end of a step waits for a report to be sent with. */
const LONGEST_WAIT_MILLISECONDS = 1_000;
/** What the contract allows beside a report's own step. */
const MOST_HELD = 10;

export type JobReporterOptions = {
  readonly job: { readonly id: string; readonly epoch: number; readonly cancel_requested: boolean };
  readonly lease: Lease;
  readonly controlPlane: ControlPlane;
  readonly runtime: AgentRuntime;
  readonly log: Logger;
  /** Called when the job is no longer ours: everything that is running has to end. */
  readonly lost: (reason: StaleLease) => void;
};

export class JobReporter {
  readonly #options: JobReporterOptions;
  readonly #closed = new AbortController();
  #seq = 0;
  #last: Promise<unknown> = Promise.resolve();
  #lost: StaleLease | null = null;
  #cancelRequested: boolean;
  /** Acknowledged: from then on the job is carried to its end. */
  #irreversible = false;
  /** What is sent with the next report, in its order. */
  #held: StepEvent[] = [];
  #holdsWait = false;

  constructor(options: JobReporterOptions) {
    this.#options = options;
    this.#cancelRequested = options.job.cancel_requested;
  }

  /**
   * Reports a step: acknowledged when it begins, held for the next report when it has ended or has its task. Throws
   * StaleLease when the job is not ours any more, Cancelled when its owner cancelled it.
   */
  async report(event: StepEvent): Promise<void> {
    // The last line of a job that has done everything: there is nothing left to call off.
    const complete = event.phase === "verify" && event.status === "succeeded";
    if (!complete) this.throwIfCancelled();
    this.#options.log.info(
      {
        phase: event.phase,
        step: event.name,
        status: event.status,
        ...(event.externalRef === null ? {} : { task: event.externalRef }),
        ...(event.message === null ? {} : { message: event.message }),
      },
      `${event.name} ${event.status}`,
    );
    if (this.#lost !== null) throw this.#lost;
    if ((event.status !== "running" || event.externalRef !== null) && this.#held.length < MOST_HELD) {
      this.#held.push(event);
      this.#sendHeldLater();
      return;
    }
    if ((await this.#deliver({ event })) === "lost") throw this.#lost ?? new StaleLease();
    // A request to stop that came before this report counts; for one that came after it the control plane
    // decides.
    if (!complete) this.throwIfCancelled();
    if (event.irreversible) this.#irreversible = true;
  }

  /** Sends what is held by itself when no report comes for a second. */
  #sendHeldLater(): void {
    if (this.#holdsWait) return;
    this.#holdsWait = true;
    const { runtime, log } = this.#options;
    const wait = async () => {
      const passed = await pausedFully(runtime, LONGEST_WAIT_MILLISECONDS, this.#closed.signal);
      this.#holdsWait = false;
      if (passed) await this.#deliver({}, () => this.#held.length === 0);
    };
    wait().catch((error: unknown) => log.error({ err: error }, "the end of a step could not be reported"));
  }

  /** Nothing more may be begun for a job that was called off, unless it is too late for that. */
  throwIfCancelled(): void {
    if (this.#cancelRequested && !this.#irreversible) throw new Cancelled();
  }

  /** Renews the lease while nothing else is reported. Ends with the signal, with `end` or with the lease. */
  async keepAlive(signal: AbortSignal): Promise<void> {
    const { lease, runtime } = this.#options;
    const stop = AbortSignal.any([signal, this.#closed.signal]);
    for (;;) {
      if (!(await pausedFully(runtime, lease.millisecondsUntilRenewal(), stop)) || this.#lost) return;
      if (lease.millisecondsUntilRenewal() > 0) continue;
      const delivery = await this.#deliver({}, () => lease.millisecondsUntilRenewal() > 0);
      if (delivery === "lost") return;
      // Refused: an immediate retry would not change the answer.
      if (delivery === "refused" && !(await pausedFully(runtime, lease.milliseconds / 12, stop))) return;
    }
  }

  /** Reports how the job ended. True when the control plane has it. Nothing is reported after that. */
  async end(outcome: Schemas["JobOutcome"]): Promise<boolean> {
    this.#closed.abort();
    const delivery = await this.#deliver({ outcome: fittedOutcome(outcome) });
    if (delivery !== "refused") return delivery === "acknowledged";
    // The status matters more than what was observed or the text about it.
    const { status, error } = outcome;
    const short = error
      ? { error: { code: "internal", message: "The report was too much for the control plane." } }
      : {};
    return (await this.#deliver({ outcome: { status, ...short } })) === "acknowledged";
  }

  /** One after the other; `superfluous` is called when its turn has come. */
  #deliver(content: Content, superfluous: () => boolean = () => false): Promise<Delivery> {
    const delivery = this.#last.then(async () =>
      superfluous() ? "acknowledged" : this.#untilAnswered(content),
    );
    this.#last = delivery.catch(() => {});
    return delivery;
  }

  async #untilAnswered({ event, outcome }: Content): Promise<Delivery> {
    const { job, lease, controlPlane, runtime, log } = this.#options;
    const events = [...this.#held.splice(0), ...(event === undefined ? [] : [event])];
    this.#seq += Math.max(1, events.length);
    const report = {
      ...stepReport(...events),
      ...(outcome === undefined ? {} : { outcome }),
      epoch: job.epoch,
      seq: this.#seq,
    };
    // Ends with the process only: the loop watches the lease, and a stopping agent still hands its jobs back.
    const { signal } = new AbortController();
    // A try that was handled and whose answer was lost has renewed the lease, and those after it do not: the control
    // plane counts from the first that reached it, which is not before this.
    const firstSentAt = runtime.monotonic();
    for (let failures = 0; ; failures++) {
      if (this.#lost) return "lost";
      // Tried once even so: the lease is counted from before a claim that may have waited for longer than it
      // lasts. The control plane decides whether the job is still ours; a report of an old epoch changes
      // nothing.
      if (failures > 0 && lease.isOver())
        return this.#loseJob("the lease is over and no report was acknowledged");
      const answer = await controlPlane.report(
        job.id,
        report,
        signal,
        lease.milliseconds * REPORT_TIMEOUT_FRACTION,
      );
      switch (answer.kind) {
        case "ok":
          lease.renewed(firstSentAt);
          if (answer.value.cancel_requested) this.#cancelRequested = true;
          return "acknowledged";
        case "refused":
          if (answer.status === 409 || answer.status === 404) return this.#loseJob(answer.message);
          log.error({ reason: answer.message, seq: report.seq }, "the control plane refuses a report");
          return "refused";
        case "unauthorized":
          log.error({ reason: answer.message }, "the control plane does not accept the agent's token");
          break;
        case "away":
          log.warn({ reason: answer.message, seq: report.seq }, "a report is not acknowledged yet");
      }
      const longest = lease.milliseconds * LONGEST_PAUSE_FRACTION;
      await runtime.pause(backoffMilliseconds(failures, longest, runtime.random()));
    }
  }

  #loseJob(reason: string): "lost" {
    if (this.#lost === null) {
      this.#options.log.warn(
        { reason },
        "another agent has claimed the job; nothing more is done or reported",
      );
      this.#lost = new StaleLease(reason);
      this.#closed.abort();
      this.#options.lost(this.#lost);
    }
    return "lost";
  }
}
