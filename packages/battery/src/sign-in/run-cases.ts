import type { RowResult, RowRun } from "../row.ts";
import type { SignInCase } from "./session-cases.ts";
import { SignInWorld } from "./sign-in-world.ts";

const rounds = { sample: 1, full: 5 } as const;

export async function runSignInCases(
  cases: readonly SignInCase[],
  { scale, progress }: RowRun,
): Promise<RowResult> {
  const violations: string[] = [];
  let done = 0;
  for (let round = 0; round < rounds[scale]; round += 1) {
    // Addresses are counted for a quarter of an hour, so each round has a database of its own.
    const world = await SignInWorld.open();
    try {
      for (const each of cases) {
        violations.push(...(await each(world)));
        done += 1;
      }
    } catch (error) {
      // What is broken already may keep a later case from being carried out.
      if (violations.length === 0) throw error;
      break;
    } finally {
      await world.close();
    }
    progress(`${done} cases`);
  }
  return { cases: done, violations: [...new Set(violations)] };
}
