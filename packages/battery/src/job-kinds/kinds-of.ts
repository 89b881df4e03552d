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

/**
 * Kinds that rows A1, A5 and A14 do not cover yet, at any length. A14 asks for a failed job to be tried again, which some
 * of these do not allow, and the other two have not been brought to run with them. The list may only shrink; a kind that
 * is not on it is gone through.
 */
const NOT_YET_COVERED: ReadonlySet<JobKind> = new Set([
  "ServerPower",
  "ServerResize",
  "ServerRebuild",
  "ServerPasswordReset",
  "ServerUpdate",
  "ServerAdopt",
  "PublicIpAttach",
  "PublicIpDetach",
]);

/** The job kinds that a row goes through: all there are, or at a sample's length the first. */
export function kindsOf(scale: Scale): readonly JobKind[] {
  return scale === "full" ? JOB_KINDS : JOB_KINDS.filter((kind) => SAMPLED.has(kind));
}

/** Of those, the ones that rows A1, A5 and A14 cover. */
export function coveredKinds(scale: Scale): readonly JobKind[] {
  return kindsOf(scale).filter((kind) => !NOT_YET_COVERED.has(kind));
}

/** For the page on reliability: what `coveredKinds` leaves out at full length. */
export const leftOut = { "kinds left out": [...NOT_YET_COVERED].join(", ") };
