import { ApiWorld } from "@kule/api/testing/api-world";
import { worldCheck } from "@kule/testing/world-check/world-check";
import fc from "fast-check";
import pg from "pg";
import type { Command } from "./command.ts";
import { compareAll } from "./compare.ts";
import { emptyState, LEASE_SECONDS, openReal, type Real, type Room } from "./real-world.ts";
import { type Sequence, sequences } from "./sequences.ts";
import { shorten } from "./shorten.ts";

export type ModelRuns = {
  readonly runs: number;
  readonly commands: number;
  readonly answers: number;
  /** How often each answer was as the model predicted. */
  readonly outcomes: ReadonlyMap<string, number>;
  readonly violations: readonly string[];
};

/** How long a failing sequence is shortened. */
const shortenSeconds = 120;

export type ModelOrder = {
  readonly runs: number;
  readonly seed: number;
  /** Whether a failing sequence is shortened as far as time allows. */
  readonly shortens: boolean;
  /** Another world has found something: no new sequence is begun. */
  readonly isOver: () => boolean;
  readonly progress: (more: number) => void;
};

/** So many sequences of commands, each with organisations and a region of its own, in one world. */
export async function runModel({ runs, seed, shortens, isOver, progress }: ModelOrder): Promise<ModelRuns> {
  // A job that the agent holds at the end of a sequence stays held until the world ends.
  const world = await ApiWorld.open({ leaseSeconds: LEASE_SECONDS });
  const owner = new pg.Pool({ connectionString: world.database.ownerUrl, max: 2 });
  owner.on("error", () => {});
  const counted = { answers: 0, commands: 0, outcomes: new Map<string, number>() };
  let done = 0;
  try {
    const property = fc.asyncProperty(sequences(), async ({ room, commands }) => {
      if (isOver()) return;
      await runSequence(world, owner, room, commands, counted);
      done += 1;
      if (done % 20 === 0) progress(20);
    });
    // fast-check shrinks only within the generated shape, which has a least length.
    const check = await fc.check(property, { numRuns: runs, seed, endOnFailure: true });
    const violations: string[] = [];
    const failed = check.counterexample?.[0] as Sequence | undefined;
    if (check.failed && failed !== undefined) {
      const text = describe(check.errorInstance);
      const { commands, failure } = shortens
        ? await shortest(world, owner, failed, text)
        : { commands: failed.commands, failure: text };
      violations.push(
        `${failure} (seed ${check.seed}, path ${check.counterexamplePath}; ${commands.length} of ${failed.commands.length} commands: ${commands.join("; ")})`,
      );
    } else if (check.failed) violations.push(describe(check.errorInstance));
    const broken = await worldCheck({ ownerUrl: world.database.ownerUrl });
    violations.push(
      ...broken.map(({ invariant, check: name, subject }) => `${invariant} ${name}: ${subject}`),
    );
    return { runs: done, ...counted, violations };
  } finally {
    await owner.end();
    await world.close();
  }
}

async function runSequence(
  world: ApiWorld,
  owner: pg.Pool,
  room: Room,
  commands: Iterable<Command>,
  counted: Real["counted"],
): Promise<void> {
  const real = await openReal(world, owner, room, counted);
  const state = emptyState(room, real.addresses);
  try {
    await fc.asyncModelRun(() => ({ model: state, real }), commands);
    await compareAll(real, state);
  } catch (error) {
    throw new Error(`${describe(error)}; what had happened: ${real.trace.join("; ")}`);
  }
}

async function shortest(
  world: ApiWorld,
  owner: pg.Pool,
  { room, commands }: Sequence,
  text: string,
): Promise<{ readonly commands: readonly Command[]; readonly failure: string }> {
  const until = performance.now() + shortenSeconds * 1000;
  const apart = { answers: 0, commands: 0, outcomes: new Map<string, number>() };
  const found = await shorten(
    commands,
    text,
    (part) =>
      runSequence(world, owner, room, part, apart).then(
        () => null,
        (error: unknown) => describe(error),
      ),
    () => performance.now() > until,
  );
  return { commands: found.sequence, failure: found.failure };
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
