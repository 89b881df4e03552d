// Runs a program to its end. An answer that never arrived leads to another observation, never to the same
// call again.

import type { JobKind, PayloadOf } from "@kule/contract/schemas";
import { noCrash } from "@kule/crash-points/crash-hook";
import type { EffectContext } from "@kule/proxmox/hypervisor";
import type { CrashPoint } from "./crash-points.ts";
import { Bug, Cancelled, Failed, RetryLater, StaleLease } from "./errors.ts";
import { classifyFailure, needsNewObservation, newObservationReason, retryLater } from "./outcome.ts";
import type { AnyWorld, Host, Job, Observed, Program, Step, StepEvent } from "./program.ts";

/** Observations in one run; a healthy create needs three. */
const MAX_ROUNDS = 10;
/**
 * How often the same plan is applied before its repetition means that the region does not do as it says.
 * Four times: late copies of the requests of one try may undo what the next try did, and only the hypervisor
 * has seen them arrive. With two, one of 2,400 simulated seeds failed a job in a region that was in order; with
 * three, one of 200,000.
 */
const TRIES_OF_A_PLAN = 4;
/** No effect is begun in the last third of a lease: a slow call must end while the job is still ours. */
const LEASE_FRACTION_FOR_EFFECTS = 1 / 3;
/** While something takes long, the lease is renewed when this much of it is left. */
const LEASE_FRACTION_FOR_RENEWAL = 2 / 3;
/** A call whose answer was lost may still be arriving. */
const RETRY_PAUSES_MILLISECONDS = [1_000, 2_000, 5_000, 10_000, 20_000];

/**
 * Safe to call again after a crash at any point. Throws RetryLater, Failed, Bug, StaleLease or Cancelled, and what
 * the crash hook throws, untouched.
 */
export async function runProgram<Kind extends JobKind, Seen, S extends Step, W extends AnyWorld>(
  program: Program<Kind, Seen, S, W>,
  job: Job<PayloadOf<Kind>>,
  world: W,
  host: Host,
): Promise<Observed> {
  return new Run(program, job, world, host).run();
}

class Run<Kind extends JobKind, Seen, S extends Step, W extends AnyWorld> {
  readonly #program: Program<Kind, Seen, S, W>;
  readonly #job: Job<PayloadOf<Kind>>;
  readonly #world: W;
  readonly #host: Host;
  #progress = 0;
  #irreversible = false;
  #hasBegun = false;
  /** What the crash hook threw. It must reach the caller as it is, through code that handles errors. */
  #crash: { readonly reason: unknown } | null = null;

  constructor(program: Program<Kind, Seen, S, W>, job: Job<PayloadOf<Kind>>, world: W, host: Host) {
    this.#program = program;
    this.#job = job;
    this.#world = world;
    this.#host = host;
  }

  async run(): Promise<Observed> {
    try {
      return await this.#rounds();
    } catch (error) {
      await this.#observeOnceMore(error);
      throw error;
    }
  }

  /** A job that did not succeed may have changed something all the same; what there is now goes with its end. */
  async #observeOnceMore(error: unknown): Promise<void> {
    const { lastObservation } = this.#program;
    if (lastObservation === undefined || this.#crash !== null || !this.#hasBegun) return;
    if (
      !(error instanceof Failed) &&
      !(error instanceof RetryLater) &&
      !(error instanceof Bug) &&
      !(error instanceof Cancelled)
    )
      return;
    // A region that does not answer now cannot be observed; the error is what matters.
    error.seen = await lastObservation(this.#job, this.#world, this.#host.signal).catch(() => null);
  }

  async #rounds(): Promise<Observed> {
    let lastPlan = "";
    let tries = 0;
    let retries = 0;
    for (let round = 1; round <= MAX_ROUNDS; round++) {
      const phase = round === 1 ? "observe" : "verify";
      await this.#report(phase, phase, "running", null);
      const { seen, steps } = await this.#look(phase);
      if (steps.length === 0) {
        this.#progress = 100;
        await this.#report("verify", "verify", "succeeded", null);
        return this.#program.observed(this.#job, seen);
      }
      const plan = JSON.stringify(steps.map((step) => step.do));
      if (plan !== lastPlan) tries = 0;
      if (tries >= TRIES_OF_A_PLAN) throw this.#withStep(this.#notConverged(plan), steps[0]?.do ?? phase);
      await this.#report("plan", "plan", "succeeded", steps.map((step) => step.do).join(", "));
      const trouble = await this.#applyAll(steps);
      // A plan that was carried out and keeps coming back will come back for ever; one cut short may well.
      lastPlan = trouble === null ? plan : "";
      tries += 1;
      if (trouble !== null) {
        const pause = RETRY_PAUSES_MILLISECONDS[retries];
        retries += 1;
        if (pause === undefined) throw trouble;
        await this.#world.runtime.pause(pause, this.#host.signal);
      }
    }
    throw new RetryLater({
      code: this.#program.notConverged ?? "not_converged",
      message: "The region keeps changing; this is tried again.",
      internal: `the plan was not empty after ${MAX_ROUNDS} looks`,
    });
  }

  async #look(phase: "observe" | "verify"): Promise<{ seen: Seen; steps: readonly S[] }> {
    const effect = this.#effect(phase, phase);
    return this.#classified(phase, async () => {
      const seen = await this.#program.observe(this.#job, this.#world, effect);
      return { seen, steps: this.#program.plan(this.#job, seen, this.#world) };
    });
  }

  /** Null when every step was applied; otherwise the error after which a new observation is needed. */
  async #applyAll(steps: readonly S[]): Promise<RetryLater | null> {
    const share = (90 - this.#progress) / (steps.length + 1);
    for (const step of steps) {
      if (this.#program.irreversible?.has(step.do)) this.#irreversible = true;
      await this.#mayContinue(step.do);
      this.#hasBegun = true;
      await this.#report("apply", step.do, "running", null);
      const isIdle = this.#program.idle?.has(step.do) === true;
      if (isIdle) this.#host.idles?.(true);
      try {
        await this.#applyOne(step);
      } catch (error) {
        this.#throwEndOfRun();
        if (!needsNewObservation(error)) throw this.#withStep(classifyFailure(error), step.do);
        await this.#report("apply", step.do, "running", `looking again: ${newObservationReason(error)}`);
        return this.#withStep(retryLater(error), step.do);
      } finally {
        if (isIdle) this.#host.idles?.(false);
      }
      this.#progress += share;
      await this.#at(step.do, "reply-read");
      await this.#report("apply", step.do, "succeeded", null);
      await this.#at(step.do, "ack-lost");
      await this.#at(step.do, "after-ack");
    }
    return null;
  }

  async #applyOne(step: S): Promise<void> {
    const effect = this.#effect("apply", step.do);
    const apply = this.#program.apply[step.do as S["do"]] as (
      step: S,
      job: Job<PayloadOf<Kind>>,
      world: W,
      effect: EffectContext,
    ) => Promise<void>;
    await apply(step, this.#job, this.#world, effect);
  }

  #effect(phase: StepEvent["phase"], name: string): EffectContext {
    return {
      signal: this.#host.signal,
      jobId: this.#job.id,
      beforeCall: async () => {
        await this.#mayContinue(name, phase);
        await this.#at(name, "before-send");
        // A process that was suspended until here has lost its lease: some effects cannot be distinguished
        // from a wanted one.
        await this.#mayContinue(name, phase);
      },
      afterObservation: () => this.#mayContinue(name, phase),
      answered: () => this.#at(name, "effect-done"),
      taskStarted: async (upid) => {
        await this.#at(name, "reply-read");
        await this.#report(phase, name, "running", null, upid);
        await this.#at(name, "ack-lost");
      },
      stillRunning: async (milliseconds) => {
        this.#host.signal?.throwIfAborted();
        if (this.#program.interruptible?.has(name as S["do"])) this.#host.throwIfCancelled?.();
        if (this.#host.lease.remainingFraction() < LEASE_FRACTION_FOR_RENEWAL)
          await this.#report(phase, name, "running", `for ${Math.round(milliseconds / 1000)} s`);
      },
      note: (text) => {
        this.#notes.push(text);
      },
    };
  }

  readonly #notes: string[] = [];

  /** Throws unless the lease is ours for long enough to begin something. */
  async #mayContinue(name: string, phase: StepEvent["phase"] = "apply"): Promise<void> {
    this.#host.signal?.throwIfAborted();
    this.#host.beforeEffect?.();
    const enough = () => this.#host.lease.remainingFraction() >= LEASE_FRACTION_FOR_EFFECTS;
    if (enough()) return;
    await this.#report(phase, name, "running", null);
    if (!enough()) throw new StaleLease();
  }

  async #report(
    phase: StepEvent["phase"],
    name: string,
    status: StepEvent["status"],
    message: string | null,
    externalRef: string | null = null,
  ): Promise<void> {
    const notes = this.#notes.splice(0).join("\n");
    const text = [message, notes]
      .filter((part) => part)
      .join("\n")
      .slice(0, 4000);
    await this.#host.report({
      phase,
      name,
      status,
      message: text === "" ? null : text,
      externalRef,
      progress: Math.round(this.#progress),
      irreversible: this.#irreversible,
    });
  }

  async #at(name: string, point: CrashPoint): Promise<void> {
    try {
      await (this.#host.crashPoint ?? noCrash)(`${this.#program.kind}.${name}.${point}`);
    } catch (reason) {
      this.#crash = { reason };
      throw reason;
    }
  }

  async #classified<T>(name: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#throwEndOfRun();
      throw this.#withStep(classifyFailure(error), name);
    }
  }

  /** A crash under test and a stop of the agent look like failed calls on their way up. */
  #throwEndOfRun(): void {
    if (this.#crash) throw this.#crash.reason;
    this.#host.signal?.throwIfAborted();
  }

  #withStep<E extends Error>(error: E, step: string): E {
    if ("step" in error && error.step === null) error.step = step;
    return error;
  }

  #notConverged(plan: string): Failed {
    return new Failed({
      code: this.#program.notConverged ?? "not_converged",
      message: "The region accepted the change and does not show it. An operator has to look at it.",
      internal: `after all steps had succeeded, these were still missing: ${plan}`,
    });
  }
}
