import type { ServerJobKind } from "@kule/contract/schemas";
import { SERVER_JOB_KINDS } from "@kule/programs/registry";
import { shuffled } from "../races/shuffled.ts";
import type { Scale } from "../row.ts";

/** What a sample has the time for, where each kind takes agents that are killed or stopped. */
const SAMPLED = 4;
/** A server that is made has most steps, and mutants of both rows show in it. */
export const ALWAYS_SAMPLED: ServerJobKind = "ServerCreate";

/** The job kinds that a row with agents of processes goes through: all there are, or at a sample's length some by chance. */
export function kindsOf(scale: Scale, random: () => number): readonly ServerJobKind[] {
  if (scale === "full") return SERVER_JOB_KINDS;
  const others = shuffled(
    SERVER_JOB_KINDS.filter((kind) => kind !== ALWAYS_SAMPLED),
    random,
  );
  return [ALWAYS_SAMPLED, ...others.slice(0, SAMPLED - 1)];
}
