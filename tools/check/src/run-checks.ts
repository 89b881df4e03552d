import type { Check } from "./checks.ts";

export interface CheckOutcome {
  name: string;
  succeeded: boolean;
  durationMs: number;
  output: string;
}

/**
 * Runs the checks in parallel and calls `report` with each outcome as it is known.
 *
 * @param side how many run at once; they are processes that use more than one core in parts.
 */
export async function runChecks(
  root: string,
  checks: Check[],
  report: (outcome: CheckOutcome) => void,
  side = 3,
): Promise<CheckOutcome[]> {
  const waiting = [...checks];
  const outcomes: CheckOutcome[] = [];
  async function work(): Promise<void> {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
      const begin = performance.now();
      const result = await check.run(root).catch((error: Error) => ({
        succeeded: false,
        output: error.stack ?? error.message,
      }));
      const outcome = { name: check.name, durationMs: performance.now() - begin, ...result };
      outcomes.push(outcome);
      report(outcome);
    }
  }
  await Promise.all(Array.from({ length: side }, work));
  return outcomes;
}

/** One line for a check, followed by its output only when it failed. */
export function describeOutcome(outcome: CheckOutcome): string {
  const seconds = (outcome.durationMs / 1000).toFixed(1).padStart(5);
  const line = `${outcome.succeeded ? "ok    " : "FAILED"} ${seconds} s  ${outcome.name}`;
  return outcome.succeeded ? line : `${line}\n${outcome.output.replace(/^/gm, "    ")}\n`;
}
