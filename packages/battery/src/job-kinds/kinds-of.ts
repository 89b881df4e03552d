import type { JobKind } from "@kule/contract/schemas";
import { JOB_KINDS } from "@kule/programs/registry";
import type { Scale } from "../row.ts";

/** What a sample has the time for: how a server begins and ends. Their programs share the engine with all others. */
const SAMPLED: ReadonlySet<JobKind> = new Set([
  "ServerCreate",
  "ServerStop",
  "ServerRestore",
  "ServerDestroy",
]);

/** The job kinds that a row goes through: all there are, or at a sample's length the first. */
export function kindsOf(scale: Scale): readonly JobKind[] {
  return scale === "full" ? JOB_KINDS : JOB_KINDS.filter((kind) => SAMPLED.has(kind));
}
