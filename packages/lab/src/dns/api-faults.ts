// Faults of the stand-in's API, for tests.

/**
 * `error`: 500, and nothing done. `hang`: no answer, nothing done. `cut`: the connection ends before anything is done.
 * `lost-reply`: it is done, and the connection ends without an answer.
 */
export type ApiFault = "error" | "hang" | "cut" | "lost-reply";

export interface ApiFaults {
  /** The next `calls` calls (default 1) whose method is `method` and whose path matches `path` get the fault. */
  add(fault: ApiFault, match?: { method?: string; path?: RegExp; calls?: number }): void;
  clear(): void;
  /** The fault of this call, which counts as one of those it was set for. */
  take(method: string, url: string): ApiFault | null;
}

export function apiFaults(): ApiFaults {
  let set: { fault: ApiFault; method: string | undefined; path: RegExp | undefined; left: number }[] = [];
  return {
    add: (fault, { method, path, calls = 1 } = {}) => {
      set.push({ fault, method, path, left: calls });
    },
    clear: () => {
      set = [];
    },
    take: (method, url) => {
      const found = set.find(
        (each) => (each.method ?? method) === method && (each.path === undefined || each.path.test(url)),
      );
      if (found === undefined) return null;
      found.left -= 1;
      set = set.filter((each) => each.left > 0);
      return found.fault;
    },
  };
}
