/** At most `limit` pieces of work at a time for each key, first come first served. */
export class ConcurrencyLimit {
  readonly #limit: number;
  readonly #running = new Map<string, number>();
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    await this.#enter(key);
    try {
      return await work();
    } finally {
      this.#leave(key);
    }
  }

  #enter(key: string): Promise<void> {
    const running = this.#running.get(key) ?? 0;
    if (running < this.#limit) {
      this.#running.set(key, running + 1);
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const queue = this.#waiting.get(key) ?? [];
      queue.push(resolve);
      this.#waiting.set(key, queue);
    });
  }

  /**
   * The place goes straight to the next in the queue, so the count is reduced only when the queue is empty.
   */
  #leave(key: string): void {
    const next = this.#waiting.get(key)?.shift();
    if (next) {
      next();
      return;
    }
    const running = (this.#running.get(key) ?? 1) - 1;
    if (running > 0) this.#running.set(key, running);
    else this.#running.delete(key);
    this.#waiting.delete(key);
  }
}
