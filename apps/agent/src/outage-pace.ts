import type { AgentRuntime } from "./runtime.ts";

/** While the control plane is away, all calls of the agent together are at most one in this time. */
const CALL_EVERY_MILLISECONDS = 1_000;

/**
 * Keeps an agent with many jobs from knocking with all of them at once at a control plane that is down or just
 * coming back. As long as calls are answered, nobody waits.
 */
export class OutagePace {
  readonly #runtime: AgentRuntime;
  #away = false;
  #nextTurn = 0;

  constructor(runtime: AgentRuntime) {
    this.#runtime = runtime;
  }

  /** Resolves when this call may go out; rejects with the signal's reason. */
  async turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#away) return;
    const now = this.#runtime.monotonic();
    const turn = Math.max(now, this.#nextTurn);
    this.#nextTurn = turn + CALL_EVERY_MILLISECONDS;
    if (turn > now) await this.#runtime.pause(turn - now, signal);
  }

  answered(): void {
    this.#away = false;
  }

  silent(): void {
    if (this.#away) return;
    this.#away = true;
    this.#nextTurn = this.#runtime.monotonic() + CALL_EVERY_MILLISECONDS;
  }
}
