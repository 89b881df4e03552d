import type { RowResult, RowRun } from "../row.ts";

const rounds = { sample: 1, full: 5 } as const;

/** One promise put to the test in a world of its round; answers what was broken. */
type Case<World> = (world: World) => Promise<readonly string[]>;

export async function runSignInCases<World extends { close(): Promise<void> }>(
  open: () => Promise<World>,
  cases: readonly Case<World>[],
  { scale, progress }: RowRun,
): Promise<RowResult> {
  const violations: string[] = [];
  let done = 0;
  for (let round = 0; round < rounds[scale]; round += 1) {
    // Addresses are counted for a quarter of an hour, so each round has a database of its own.
    const world = await open();
    try {
      for (const each of cases) {
        violations.push(...(await each(world)));
        done += 1;
      }
    } catch (error) {
      // An earlier violation may keep a later case from being carried out.
      if (violations.length === 0) throw error;
      break;
    } finally {
      await world.close();
    }
    progress(`${done} cases`);
  }
  return { cases: done, violations: [...new Set(violations)] };
}
