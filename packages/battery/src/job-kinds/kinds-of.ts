import type { JobKind } from "@kule/contract/schemas";
import { JOB_KINDS } from "@kule/programs/registry";
import { shuffled } from "../races/shuffled.ts";
import type { Scale } from "../row.ts";

/** What a sample has the time for, where each kind takes agents that are killed or stopped. */
const SAMPLED = 4;
/** A server that is made has most steps, and mutants of both rows show in it. */
export const ALWAYS_SAMPLED: JobKind = "ServerCreate";

/** The job kinds that a row with agents of processes goes through: all there are, or at a sample's length some by chance. */
export function kindsOf(scale: Scale, random: () => number): readonly JobKind[] {
  if (scale === "full") return JOB_KINDS;
  const others = shuffled(
    JOB_KINDS.filter((kind) => kind !== ALWAYS_SAMPLED),
    random,
  );
  return [ALWAYS_SAMPLED, ...others.slice(0, SAMPLED - 1)];
}
