import { setTimeout as delay } from "node:timers/promises";
import type { TestProcess } from "@kule/testing/child-process";
import type { RegionWorld } from "@kule/testing/region-world";

/** Agents of one region with one token, as processes, some of which are stopped or killed at seeded moments. */
export class Fleet {
  readonly #world: RegionWorld;
  readonly #random: () => number;
  readonly #env: Readonly<Record<string, string>>;
  readonly #running: TestProcess[] = [];
  readonly all: TestProcess[] = [];
  readonly #asleep = new Set<TestProcess>();
  stopped = 0;
  killed = 0;

  constructor(world: RegionWorld, random: () => number, env: Readonly<Record<string, string>>) {
    this.#world = world;
    this.#random = random;
    this.#env = env;
  }

  get size(): number {
    return this.#running.length;
  }

  /** Ends all but so many gracefully. */
  async shrink(count: number): Promise<void> {
    await Promise.all(this.#running.splice(count).map((agent) => agent.end("SIGTERM")));
  }

  /** Every agent has had a job. */
  areAllAtWork(): boolean {
    return this.#running.every((agent) => agent.output().includes('"job claimed"'));
  }

  grow(count: number): void {
    for (let more = 0; more < count; more += 1) {
      const agent = this.#world.startAgent(this.#env);
      this.#running.push(agent);
      this.all.push(agent);
    }
  }

  /**
   * Until aborted, at this interval an agent is suspended for so long (longer than a lease, so that others
   * take over and it returns as a zombie), or is killed and replaced.
   */
  async disturb(everyMs: number, sleepMs: number, signal: AbortSignal): Promise<void> {
    const sleepers: Promise<void>[] = [];
    while (!signal.aborted) {
      await delay(everyMs * (0.5 + this.#random()), undefined, { signal }).catch(() => {});
      if (signal.aborted) break;
      const index = Math.floor(this.#random() * this.#running.length);
      const agent = this.#running[index];
      // Most of them are awake at any time, or nothing would be done.
      if (agent === undefined || this.#asleep.has(agent) || this.#asleep.size >= this.size / 3) continue;
      if (this.#random() < 0.75) sleepers.push(this.#sleep(agent, sleepMs, signal));
      else {
        this.killed += 1;
        agent.signal("SIGKILL");
        this.#running.splice(index, 1);
        this.grow(1);
      }
    }
    await Promise.all(sleepers);
  }

  async #sleep(agent: TestProcess, sleepMs: number, signal: AbortSignal): Promise<void> {
    this.stopped += 1;
    this.#asleep.add(agent);
    agent.signal("SIGSTOP");
    await delay(sleepMs * (0.8 + this.#random() * 0.6), undefined, { signal }).catch(() => {});
    agent.signal("SIGCONT");
    this.#asleep.delete(agent);
  }

  /** Ends all of them gracefully. */
  async end(): Promise<void> {
    await this.shrink(0);
  }
}
