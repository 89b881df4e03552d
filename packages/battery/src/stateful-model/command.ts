import fc from "fast-check";
import type { ModelState } from "../reference-model/model-state.ts";
import type { Side } from "../reference-model/types.ts";
import type { Real } from "./real-world.ts";

export type Command = fc.AsyncCommand<ModelState, Real>;

/** Which of several: counted modulo how many there are when the command runs. */
export type Ref = number;

export const refs: fc.Arbitrary<Ref> = fc.nat({ max: 127 });
export const sides: fc.Arbitrary<Side> = fc.constantFrom<Side>(0, 1);

/** Something to do to the API and to the model alike. */
export function command(name: string, run: (state: ModelState, real: Real) => Promise<void>): Command {
  return {
    check: () => true,
    async run(state, real) {
      real.counted.commands += 1;
      await run(state, real);
    },
    toString: () => name,
  };
}
