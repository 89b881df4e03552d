import type { ServerJobKind } from "@kule/contract/schemas";
import { SERVER_JOB_KINDS } from "@kule/programs/registry";
import { shuffled } from "../races/shuffled.ts";
import type { Scale } from "../row.ts";

/** How many kinds a sample has time for, where each needs agents that are killed or stopped. */
const SAMPLED = 4;
/** A create has the most steps, and it shows the mutants of both rows. */
export const ALWAYS_SAMPLED: ServerJobKind = "ServerCreate";

/** The job kinds for a row with agents of processes: all, or at a sample's length some at random. */
export function kindsOf(scale: Scale, random: () => number): readonly ServerJobKind[] {
  if (scale === "full") return SERVER_JOB_KINDS;
  const others = shuffled(
    SERVER_JOB_KINDS.filter((kind) => kind !== ALWAYS_SAMPLED),
    random,
  );
  return [ALWAYS_SAMPLED, ...others.slice(0, SAMPLED - 1)];
}
