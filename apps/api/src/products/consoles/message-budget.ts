export type MessagePace = { readonly atOnce: number; readonly perSecond: number };

/**
 * How many messages one side of a console may send, empty ones and pings included: each costs the process the
 * same work whatever its size, so limits in bytes do not suffice.
 */
export class MessageBudget {
  readonly #pace: MessagePace;
  #left: number;
  #at: number;

  /** @param nowMs of a clock that never goes back */
  constructor(pace: MessagePace, nowMs: number = performance.now()) {
    this.#pace = pace;
    this.#left = pace.atOnce;
    this.#at = nowMs;
  }

  /** Takes one; false when there is none left. */
  take(nowMs: number = performance.now()): boolean {
    const { atOnce, perSecond } = this.#pace;
    this.#left = Math.min(atOnce, this.#left + ((nowMs - this.#at) / 1000) * perSecond);
    this.#at = nowMs;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}
