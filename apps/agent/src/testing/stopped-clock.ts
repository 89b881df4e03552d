import { setImmediate as turn } from "node:timers/promises";
import type { AgentRuntime } from "../runtime.ts";

/** A clock that moves when a test says so. What becomes due on the way happens in its order. */
export class StoppedClock implements AgentRuntime {
  #now = 0;
  #nextId = 0;
  readonly #due = new Map<number, { readonly at: number; readonly act: () => void }>();

  now = (): number => this.#now;
  monotonic = (): number => this.#now;
  random = (): number => 0.5;
  uuid = (): string => `run-${this.#nextId++}`;

  after = (milliseconds: number, act: () => void): (() => void) => {
    const id = this.#nextId++;
    this.#due.set(id, { at: this.#now + milliseconds, act });
    return () => void this.#due.delete(id);
  };

  pause = (milliseconds: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const cancel = this.after(milliseconds, resolve);
      signal?.addEventListener("abort", () => {
        cancel();
        reject(signal.reason);
      });
    });

  async advance(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds;
    await settled();
    for (;;) {
      const [next] = [...this.#due]
        .filter(([, { at }]) => at <= end)
        .toSorted(([, one], [, other]) => one.at - other.at);
      if (next === undefined) break;
      this.#due.delete(next[0]);
      this.#now = Math.max(this.#now, next[1].at);
      next[1].act();
      await settled();
    }
    this.#now = end;
  }
}

/** Everything that waits for nothing but its turn has had it. */
async function settled(): Promise<void> {
  for (let n = 0; n < 20; n += 1) await turn();
}
