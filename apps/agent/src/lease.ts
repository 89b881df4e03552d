import type { AgentRuntime } from "./runtime.ts";

/** Renewed this early, there is time for two more tries before effects have to stop. */
const RENEW_AT_FRACTION = 2 / 3;

/**
 * How long a claimed job is certainly ours. The control plane counts from when it handled our call, which was
 * after we sent it: counting from the sending errs on the safe side. Only the monotonic clock is read; times
 * from the control plane are by another clock.
 */
export class Lease {
  readonly #runtime: AgentRuntime;
  readonly #milliseconds: number;
  #since: number;

  /** @param sentAt monotonic time at which the answered claim was sent */
  constructor(runtime: AgentRuntime, leaseSeconds: number, sentAt: number) {
    this.#runtime = runtime;
    this.#milliseconds = leaseSeconds * 1000;
    this.#since = sentAt;
  }

  get milliseconds(): number {
    return this.#milliseconds;
  }

  /** A report sent at this time was acknowledged. */
  renewed(sentAt: number): void {
    this.#since = Math.max(this.#since, sentAt);
  }

  /** 1 right after a renewal, 0 at its end. */
  remainingFraction(): number {
    return Math.max(0, 1 - (this.#runtime.monotonic() - this.#since) / this.#milliseconds);
  }

  /** 0 when it is due. */
  millisecondsUntilRenewal(): number {
    return Math.max(0, (this.remainingFraction() - RENEW_AT_FRACTION) * this.#milliseconds);
  }

  isOver(): boolean {
    return this.remainingFraction() === 0;
  }
}
