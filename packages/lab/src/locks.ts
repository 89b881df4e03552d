import type { Runtime } from "./runtime.ts";

type Mode = "shared" | "exclusive";
interface Waiter {
  readonly mode: Mode;
  grant(): void;
}
interface LockState {
  mode: Mode;
  holders: number;
  readonly waiting: Waiter[];
}

/** Raised when a lock was not granted in time; `what` names the lock file. */
export class LockTimeout extends Error {}

/** File locks of one node (or, for shared storages, of the cluster): advisory, in memory, gone with the holder. */
export interface Locks {
  /**
   * Runs `work` holding the lock.
   *
   * @param name file name, unique per node
   * @param timeoutSeconds simulated seconds to wait before `timeoutText` is thrown
   */
  hold<T>(
    name: string,
    mode: Mode,
    timeoutSeconds: number,
    timeoutText: string,
    work: () => Promise<T>,
  ): Promise<T>;
}

/**
 * Simulated lock waits scale like everything else, but never below 25 real milliseconds a second: at scale 0
 * a lock is held for some turns of the event loop, and a waiter must outlast them.
 */
const MINIMUM_REAL_MS_PER_SECOND = 25;

export function makeLocks(runtime: Runtime): Locks {
  const states = new Map<string, LockState>();

  const admissible = (state: LockState, mode: Mode): boolean =>
    state.holders === 0 || (mode === "shared" && state.mode === "shared" && state.waiting.length === 0);

  const acquire = async (name: string, mode: Mode, seconds: number, text: string): Promise<LockState> => {
    const known = states.get(name);
    const state: LockState = known ?? { mode, holders: 0, waiting: [] };
    if (known === undefined) states.set(name, state);
    if (admissible(state, mode)) {
      state.mode = mode;
      state.holders += 1;
      return state;
    }
    return await new Promise<LockState>((resolve, reject) => {
      const waiter: Waiter = {
        mode,
        grant: () => {
          cancel();
          resolve(state);
        },
      };
      state.waiting.push(waiter);
      const cancel = runtime.after(
        seconds * Math.max(runtime.timeScale * 1000, MINIMUM_REAL_MS_PER_SECOND),
        () => {
          state.waiting.splice(state.waiting.indexOf(waiter), 1);
          reject(new LockTimeout(text));
        },
      );
    });
  };

  const release = (name: string, state: LockState): void => {
    state.holders -= 1;
    if (state.holders > 0) return;
    const first = state.waiting[0];
    if (first === undefined) {
      states.delete(name);
      return;
    }
    state.mode = first.mode;
    do {
      const next = state.waiting.shift();
      if (next === undefined) break;
      state.holders += 1;
      next.grant();
    } while (state.mode === "shared" && state.waiting[0]?.mode === "shared");
  };

  return {
    hold: async (name, mode, timeoutSeconds, timeoutText, work) => {
      const state = await acquire(name, mode, timeoutSeconds, timeoutText);
      try {
        return await work();
      } finally {
        release(name, state);
      }
    },
  };
}
