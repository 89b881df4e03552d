import { ApiWorld } from "@kule/api/testing/api-world";
import { worldCheck } from "@kule/testing/world-check/world-check";
import fc from "fast-check";
import pg from "pg";
import type { Command } from "./command.ts";
import { compareAll } from "./compare.ts";
import { deliveryCommands } from "./delivery-commands.ts";
import { emptyState, type Room } from "./model-state.ts";
import { openReal } from "./real-world.ts";
import { accessCommands, networkCommands, resourceCommands, smallSubnet } from "./resource-commands.ts";
import { agentCommands, createServers, lifeCommands, serverCommands } from "./server-commands.ts";

const LEAST_COMMANDS = 30;
const MOST_COMMANDS = 50;

export type ModelRuns = {
  readonly runs: number;
  readonly commands: number;
  readonly answers: number;
  /** How often each answer was given as the model had said. */
  readonly outcomes: ReadonlyMap<string, number>;
  readonly violations: readonly string[];
};

/** So many sequences of commands, each with organisations and a region of its own, in one world. */
export async function runModel(
  runs: number,
  seed: number,
  shrinks: boolean,
  progress: (done: number) => void,
): Promise<ModelRuns> {
  const world = await ApiWorld.open();
  const owner = new pg.Pool({ connectionString: world.database.ownerUrl, max: 2 });
  owner.on("error", () => {});
  const counted = { answers: 0, commands: 0, outcomes: new Map<string, number>() };
  let done = 0;
  try {
    const property = fc.asyncProperty(sequences(), async ({ room, commands }) => {
      const state = emptyState(room);
      const real = await openReal(world, owner, room, counted);
      try {
        await fc.asyncModelRun(() => ({ model: state, real }), commands);
        await compareAll(real, state);
      } catch (error) {
        throw new Error(`${describe(error)}; what had happened: ${real.trace.join("; ")}`);
      }
      done += 1;
      if (done % 20 === 0) progress(done);
    });
    const check = await fc.check(property, {
      numRuns: runs,
      seed,
      endOnFailure: !shrinks,
      // Shrinking a sequence may take longer than all the runs; what there is by then says enough.
      ...(shrinks ? { interruptAfterTimeLimit: 240_000, markInterruptAsFailure: false } : {}),
    });
    const violations: string[] = [];
    if (check.failed)
      violations.push(
        `${describe(check.errorInstance)} (seed ${check.seed}, path ${check.counterexamplePath})`,
      );
    const broken = await worldCheck({ ownerUrl: world.database.ownerUrl });
    violations.push(
      ...broken.map(({ invariant, check: name, subject }) => `${invariant} ${name}: ${subject}`),
    );
    return { runs: check.numRuns, ...counted, violations };
  } finally {
    await owner.end();
    await world.close();
  }
}

type Sequence = { readonly room: Room; readonly commands: Command[] };
type Weighted = { readonly weight: number; readonly arbitrary: fc.Arbitrary<Command> };

/**
 * Mostly what happens to servers, since most can go wrong there; but a sequence of everything comes deep into nothing,
 * so each has its theme.
 */
function sequences(): fc.Arbitrary<Sequence> {
  const all = (weight: number, arbitraries: readonly fc.Arbitrary<Command>[]): Weighted[] =>
    arbitraries.map((arbitrary) => ({ weight, arbitrary }));
  const some = (minLength: number, maxLength: number, ...commands: Weighted[]) =>
    fc.array(fc.oneof(...commands), { minLength, maxLength, size: "max" });
  const theme = (...commands: Weighted[]) => some(LEAST_COMMANDS, MOST_COMMANDS, ...commands);
  const agent = all(4, agentCommands());
  // Few servers, and much that happens to each of them.
  const lives = fc
    .tuple(
      createServers(),
      createServers(),
      theme(
        ...all(2, lifeCommands()),
        ...all(1, deliveryCommands()),
        ...all(1, [createServers()]),
        ...all(6, agentCommands()),
      ),
    )
    .map(([one, other, rest]) => [one, other, ...rest]);
  // More servers than a small subnet has addresses.
  const crowd = fc
    .tuple(some(12, 20, ...all(1, [createServers(11)])), some(10, 20, ...all(1, lifeCommands()), ...agent))
    .map(([creates, rest]) => [...smallSubnet(), ...creates, ...rest]);
  const commands = fc.oneof(
    { weight: 4, arbitrary: lives },
    { weight: 2, arbitrary: theme(...all(2, serverCommands()), ...agent, ...all(1, resourceCommands())) },
    { weight: 2, arbitrary: theme(...all(2, [createServers()]), ...all(2, networkCommands()), ...agent) },
    { weight: 3, arbitrary: theme(...all(1, accessCommands())) },
  );
  const room = fc.record({
    vmids: fc.oneof(fc.constant(12), fc.integer({ min: 1, max: 5 })),
    vlans: fc.oneof(fc.constant(6), fc.integer({ min: 1, max: 3 })),
  });
  return fc.oneof(
    { weight: 11, arbitrary: fc.record({ room, commands }) },
    { weight: 1, arbitrary: fc.record({ room: fc.constant({ vmids: 20, vlans: 6 }), commands: crowd }) },
  );
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
