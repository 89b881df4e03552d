import { type AgentRuntime, pausedFully } from "./runtime.ts";

/** While the control plane is unreachable, all calls of the agent together are at most one in this time. */
const CALL_EVERY_MILLISECONDS = 1_000;

/**
 * Keeps an agent with many jobs from retrying with all of them at once while the control plane is down or
 * just returning. As long as calls are answered, no job waits; the first answer releases all that do.
 */
export class OutagePace {
  readonly #runtime: AgentRuntime;
  /** Aborted by the first answer; null while the control plane answers. */
  #outage: AbortController | null = null;
  #nextTurn = 0;

  constructor(runtime: AgentRuntime) {
    this.#runtime = runtime;
  }

  /** Resolves when this call may go out; rejects with the signal's reason. */
  async turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#outage === null) return;
    const now = this.#runtime.monotonic();
    const turn = Math.max(now, this.#nextTurn);
    this.#nextTurn = turn + CALL_EVERY_MILLISECONDS;
    if (turn > now)
      await pausedFully(this.#runtime, turn - now, AbortSignal.any([signal, this.#outage.signal]));
    signal.throwIfAborted();
  }

  answered(): void {
    this.#outage?.abort();
    this.#outage = null;
  }

  silent(): void {
    if (this.#outage !== null) return;
    this.#outage = new AbortController();
    this.#nextTurn = this.#runtime.monotonic() + CALL_EVERY_MILLISECONDS;
  }
}
