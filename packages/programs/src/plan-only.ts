import type { JobKind, PayloadOf } from "@kule/contract/schemas";
import type { EffectContext } from "@kule/proxmox/hypervisor";
import type { AnyWorld, Job, Program, Step } from "./program.ts";

/** The plan cannot be known without a change, or only after a wait. The message says which. */
export class NotPlanned extends Error {
  constructor(message: string) {
    super(message);
    this.name = "NotPlanned";
  }
}

export type DryLook = { readonly signal: AbortSignal };

/**
 * Observes and plans, and applies nothing. What an observation can only learn by a command in a guest is refused before
 * it is sent, and a task that is still running is not waited for.
 */
export async function planOnly<Kind extends JobKind, Seen, S extends Step, W extends AnyWorld>(
  program: Program<Kind, Seen, S, W>,
  job: Job<PayloadOf<Kind>>,
  world: W,
  { signal }: DryLook,
): Promise<readonly string[]> {
  const refusals: NotPlanned[] = [];
  const refuse = async (message: string): Promise<never> => {
    const refusal = new NotPlanned(message);
    refusals.push(refusal);
    throw refusal;
  };
  const effect: EffectContext = {
    signal,
    jobId: job.id,
    beforeCall: () => refuse("it can only be observed by a command in the guest, which would be a change"),
    afterObservation: () => Promise.resolve(),
    answered: () => Promise.resolve(),
    taskStarted: () => Promise.resolve(),
    stillRunning: () => refuse("something is still being done to it; try again when that has ended"),
    note: () => {},
  };
  try {
    const seen = await program.observe(job, world, effect);
    // A program may take the refusal for a guest that does not answer; the plan would then be about another region.
    if (refusals[0] !== undefined) throw refusals[0];
    return program.plan(job, seen, world).map((step) => step.do);
  } catch (error) {
    throw refusals[0] ?? error;
  }
}
