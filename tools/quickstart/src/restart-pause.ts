const firstPauseMs = 200;
const longestPauseMs = 10_000;
/** Whatever ran for so long was healthy: its end counts as the first one. */
const steadyAfterMs = 30_000;

/** How long to wait before something that ended is started again: longer with each end since it last ran for a while. */
export class RestartPause {
  readonly #now: () => number;
  #begunAt = 0;
  #nextMs = firstPauseMs;

  /** @param now a monotonic clock in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  begin(): void {
    this.#begunAt = this.#now();
  }

  afterEnd(): number {
    if (this.#now() - this.#begunAt >= steadyAfterMs) this.#nextMs = firstPauseMs;
    const pauseMs = this.#nextMs;
    this.#nextMs = Math.min(pauseMs * 2, longestPauseMs);
    return pauseMs;
  }
}
