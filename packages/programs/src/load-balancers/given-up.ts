// Machines that one run of a job has waited for in vain, or that did not take the state. They are left out for the rest of
// that run, so that they keep nobody from a change; the next run asks them again.

import type { Job } from "../program.ts";

export type Slot = 1 | 2;

/** A run has its job for itself: nothing of it outlives the run. */
const slotsOfRuns = new WeakMap<Job<never>, Set<Slot>>();

export function giveUp(job: Job<unknown>, slot: Slot): void {
  const slots = slotsOfRuns.get(job as Job<never>) ?? new Set();
  slotsOfRuns.set(job as Job<never>, slots.add(slot));
}

export function isGivenUp(job: Job<unknown>, slot: Slot): boolean {
  return slotsOfRuns.get(job as Job<never>)?.has(slot) === true;
}
