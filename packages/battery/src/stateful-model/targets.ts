import type { ModelState } from "../reference-model/model-state.ts";
import type { ModelJob, ModelServer, Side } from "../reference-model/types.ts";
import { type Command, command, type Ref } from "./command.ts";
import { compareServer } from "./compare.ts";
import type { Real } from "./real-world.ts";

/** On a server of any side, also one that is gone; afterwards its owner's view is compared with the model. */
export function onServer(
  name: string,
  side: Side,
  ref: Ref,
  work: (state: ModelState, real: Real, server: ModelServer) => Promise<void>,
): Command {
  return command(`${name} ${ref} as ${side}`, async (state, real) => {
    const server = preferOwn(state.servers, side, ref);
    if (server === undefined) return;
    real.since.hasChanged = false;
    await work(state, real, server);
    // A wrong effect of a refused request is found with the next change, or at the end.
    if (real.since.hasChanged) await compareServer(real, state, server);
  });
}

export function onJob(
  name: string,
  side: Side,
  ref: Ref,
  work: (state: ModelState, real: Real, job: ModelJob) => Promise<void>,
): Command {
  return onServer(name, side, ref, async (state, real, server) => {
    // The newest ones are those with something left to decide.
    const job = server.jobs.at(-1 - (Math.floor(ref / 16) % server.jobs.length));
    if (job !== undefined) await work(state, real, job);
  });
}

/** Mostly the side's own, sometimes the other's: the model predicts the answer for both. */
export function preferOwn<Item extends { readonly side: Side }>(
  items: readonly Item[],
  side: Side,
  ref: Ref,
): Item | undefined {
  const own = items.filter((item) => item.side === side);
  return pick(ref % 8 === 0 || own.length === 0 ? items : own, ref);
}

export function pick<Item>(list: readonly Item[], ref: Ref): Item | undefined {
  return list[ref % Math.max(1, list.length)];
}
