/**
 * Pending writes about sessions: each session's in their order, retried until they succeed. A session that
 * ends while the database is unreachable must not count as open for as long as this process lives.
 */
export class SessionNotes {
  readonly #owed = new Map<string, (() => Promise<void>)[]>();
  readonly #writing = new Map<string, Promise<void>>();
  readonly #onFailure: (error: unknown) => void;

  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  /** Whether something of the session is still to be written. */
  owes(sessionId: string): boolean {
    return this.#owed.has(sessionId);
  }

  add(sessionId: string, write: () => Promise<void>): void {
    const owed = this.#owed.get(sessionId);
    if (owed === undefined) this.#owed.set(sessionId, [write]);
    else owed.push(write);
    void this.#writeOf(sessionId);
  }

  /** Tries every pending write once. */
  async writeAll(): Promise<void> {
    await Promise.all([...this.#owed.keys()].map((id) => this.#writeOf(id)));
  }

  #writeOf(sessionId: string): Promise<void> {
    const running = this.#writing.get(sessionId);
    if (running !== undefined) return running;
    const writing = this.#writeInOrder(sessionId)
      .catch(this.#onFailure)
      .finally(() => this.#writing.delete(sessionId));
    this.#writing.set(sessionId, writing);
    return writing;
  }

  async #writeInOrder(sessionId: string): Promise<void> {
    const owed = this.#owed.get(sessionId) ?? [];
    for (let next = owed[0]; next !== undefined; next = owed[0]) {
      await next();
      owed.shift();
    }
    this.#owed.delete(sessionId);
  }
}
