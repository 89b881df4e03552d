import type pg from "pg";

const LOOK_MILLISECONDS = 150;
/** A claim or a report sets a lease to its length; what is more is another clock's. */
const TOLERANCE_SECONDS = 1;

/**
 * Reads all leases repeatedly, by Postgres' clock, and records those that are longer than the configured
 * time.
 */
export class LeaseWatch {
  readonly #owner: pg.Pool;
  readonly #leaseSeconds: number;
  readonly #timer: NodeJS.Timeout;
  readonly #found = new Map<string, string>();
  #looking: Promise<void> = Promise.resolve();
  #looks = 0;

  constructor(owner: pg.Pool, leaseSeconds: number) {
    this.#owner = owner;
    this.#leaseSeconds = leaseSeconds;
    this.#timer = setInterval(() => {
      this.#looking = this.#looking.then(() => this.#look());
    }, LOOK_MILLISECONDS);
  }

  /** @returns one sentence for each job whose lease was wrong */
  async end(): Promise<string[]> {
    clearInterval(this.#timer);
    await this.#looking;
    if (this.#looks === 0) return ["no lease was ever seen: nothing ran while it was looked"];
    return [...this.#found.values()];
  }

  async #look(): Promise<void> {
    const { rows } = await this.#owner.query<{ id: string; seconds: number }>(
      "select id, extract(epoch from lease_until - clock_timestamp())::float8 as seconds from job where status = 'running'",
    );
    this.#looks += rows.length;
    for (const { id, seconds } of rows)
      if (seconds > this.#leaseSeconds + TOLERANCE_SECONDS)
        this.#found.set(
          id,
          `the lease of ${id} had ${seconds.toFixed(1)} s to run, and leases are ${this.#leaseSeconds} s`,
        );
  }
}
