import { setTimeout as delay } from "node:timers/promises";
import type { PostgresCluster, StopMode } from "@kule/testing/rig/postgres-cluster";

export type MonkeyPace = {
  /** Between two backends that are terminated, in milliseconds. */
  readonly terminateEveryMs: number;
  /** From one start of Postgres to its next stop, in seconds. */
  readonly upSeconds: readonly [least: number, most: number];
  readonly downSecondsAtMost: number;
};

export type Restart = {
  readonly mode: StopMode;
  /** Monotonic, in milliseconds: from when on Postgres took connections again. */
  readonly upAtMs: number;
};

/** Terminates backends of a cluster and restarts it, fast and immediate in turn, until it is stopped. */
export class PostgresMonkey {
  readonly #cluster: PostgresCluster;
  readonly #pace: MonkeyPace;
  readonly #random: () => number;
  readonly #restarts: Restart[] = [];
  readonly #terminated = new Map<string, number>();
  readonly #stop = new AbortController();
  readonly #work: Promise<unknown>;

  constructor(cluster: PostgresCluster, pace: MonkeyPace, random: () => number) {
    this.#cluster = cluster;
    this.#pace = pace;
    this.#random = random;
    this.#work = Promise.all([this.#terminate(), this.#restart()]);
    // `stop` throws the error; until then it must not count as unhandled.
    this.#work.catch(() => {});
  }

  get restarts(): readonly Restart[] {
    return this.#restarts;
  }

  /** Backends it has ended, by the names of their applications. */
  get terminated(): ReadonlyMap<string, number> {
    return this.#terminated;
  }

  /** Resolves when Postgres is up and stays so. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#work;
  }

  async #terminate(): Promise<void> {
    while (await this.#pause(this.#pace.terminateEveryMs)) {
      if (!this.#cluster.isUp) continue;
      const application = await this.#cluster.terminateOne(this.#random);
      if (application !== null)
        this.#terminated.set(application, (this.#terminated.get(application) ?? 0) + 1);
    }
  }

  async #restart(): Promise<void> {
    const [least, most] = this.#pace.upSeconds;
    for (let round = 0; await this.#pause((least + this.#random() * (most - least)) * 1000); round += 1) {
      const mode = round % 2 === 0 ? "immediate" : "fast";
      await this.#cluster.stop(mode);
      // Not cut short by the end: the last outage is as long as any.
      await delay(this.#random() * this.#pace.downSecondsAtMost * 1000);
      await this.#cluster.start();
      this.#restarts.push({ mode, upAtMs: performance.now() });
    }
  }

  /** False when it is over. */
  async #pause(milliseconds: number): Promise<boolean> {
    try {
      await delay(milliseconds, undefined, { signal: this.#stop.signal });
      return true;
    } catch {
      return false;
    }
  }
}
