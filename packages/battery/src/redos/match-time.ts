import { createContext, Script } from "node:vm";

/** How long a batch may take in all; what is not done then counts as taking this long. */
const timeoutMs = 500;

/** The milliseconds that a search in each text takes, up to the one that ran into the timeout. */
export type MatchTimer = (pattern: RegExp, texts: readonly string[]) => number[];

/**
 * Times searches as the product makes them: `test`, or all matches when the pattern is a global one. In a
 * context of its own, because there V8 can be interrupted in the middle of backtracking.
 */
export function matchTimer(): MatchTimer {
  const sandbox = {
    pattern: /x/,
    texts: [] as readonly string[],
    times: [] as number[],
    now: () => performance.now(),
  };
  const context = createContext(sandbox);
  const search = new Script(`
    for (const text of texts) {
      const startedAt = now();
      pattern.lastIndex = 0;
      if (pattern.global) text.replace(pattern, ""); else pattern.test(text);
      times.push(now() - startedAt);
    }`);
  return (pattern, texts) => {
    Object.assign(sandbox, { pattern, texts, times: [] });
    try {
      search.runInContext(context, { timeout: timeoutMs });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      if (sandbox.times.length < texts.length) sandbox.times.push(timeoutMs);
    }
    return sandbox.times;
  };
}
